// VALID, one agent: the arithmetic, the hash, the phases and the checks. The ids in comments are clauses of spec/.
//
// Messages are JSON values of the form of CF-7; nothing that a neighbour sends can throw here (MO-8).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bigint.h"
#include "json.h"

using Vector = std::vector<int64_t>;

// An input that a clause forbids.
struct Refused : std::runtime_error {
    std::string clause;
    Refused(std::string clause, const std::string& what) : std::runtime_error(clause + ": " + what), clause(clause) {}
};

// ---------------------------------------------------------------------------------------------------------- graph

// MO-1, MO-2: the neighbours of every agent, in increasing order.
inline std::vector<std::vector<int>> neighbours_of(int64_t agents, const std::vector<std::pair<int64_t, int64_t>>& edges) {
    if (agents < 2) throw Refused("MO-2", "fewer than two agents: " + std::to_string(agents));
    if (agents - 1 > int64_t(edges.size())) throw Refused("MO-2", "too few edges to connect the agents");
    std::vector<std::vector<int>> neighbours(static_cast<size_t>(agents));
    std::set<std::pair<int64_t, int64_t>> seen;
    for (auto [u, v] : edges) {
        std::string edge = std::to_string(u) + "-" + std::to_string(v);
        if (u < 0 || v < 0 || u >= agents || v >= agents) throw Refused("MO-2", "an unknown agent in the edge " + edge);
        if (u == v) throw Refused("MO-2", "a loop: " + edge);
        if (!seen.insert(std::minmax(u, v)).second) throw Refused("MO-2", "a duplicate edge: " + edge);
        neighbours[size_t(u)].push_back(int(v));
        neighbours[size_t(v)].push_back(int(u));
    }
    for (auto& list : neighbours) std::sort(list.begin(), list.end());
    std::vector<bool> reached(static_cast<size_t>(agents), false);
    std::vector<int> open{0};
    reached[0] = true;
    size_t count = 1;
    while (!open.empty()) {
        int v = open.back();
        open.pop_back();
        for (int u : neighbours[size_t(v)]) {
            if (reached[size_t(u)]) continue;
            reached[size_t(u)] = true;
            ++count;
            open.push_back(u);
        }
    }
    if (count != size_t(agents)) throw Refused("MO-2", "the graph is not connected");
    return neighbours;
}

// -------------------------------------------------------------------------------------------------------- lattice

const int64_t WORD_LIMIT = int64_t(1) << 62;

inline int check_bits(const BigInt& bits) {  // AR-1
    if (bits.negative() || bits > BigInt(60)) throw Refused("AR-1", "a number of bits out of 0..60: " + bits.text());
    return int(bits.to_int64());
}

inline int64_t check_step(const BigInt& step) {  // AR-2
    if (step < BigInt(1) || step >= BigInt(WORD_LIMIT)) throw Refused("AR-2", "a step out of 1..2^62-1: " + step.text());
    return step.to_int64();
}

inline bool in_range(const Vector& entries, int64_t limit) {  // AR-10
    return std::all_of(entries.begin(), entries.end(), [&](int64_t x) { return x > -limit && x < limit; });
}

// AR-10: the largest intermediate, X_max (2^(k+1) + 2 max(a) maxdeg) + G_max, must be below min(2^62, p).
inline BigInt check_range_rule(int k, const BigInt& largest_step, const BigInt& max_degree, const BigInt& p,
                               const BigInt& model_limit, const BigInt& gradient_limit) {
    if (max_degree < BigInt(1)) throw Refused("AR-10", "a largest degree below 1: " + max_degree.text());
    if (model_limit < BigInt(1) || gradient_limit < BigInt(1)) throw Refused("AR-10", "a limit below 1");
    BigInt factor = BigInt::power_of_two(unsigned(k) + 1) + BigInt(2) * largest_step * max_degree;
    BigInt largest = model_limit * factor + gradient_limit;
    if (largest >= std::min(BigInt(WORD_LIMIT), p)) {
        throw Refused("AR-10", "the largest intermediate " + largest.text() + " reaches min(2^62, p)");
    }
    return largest;
}

// AR-10: the default X_max and G_max.
inline std::pair<BigInt, BigInt> default_limits(int k, const BigInt& largest_step, const BigInt& max_degree, const BigInt& p) {
    if (max_degree < BigInt(1)) throw Refused("AR-10", "a largest degree below 1: " + max_degree.text());
    BigInt room = std::min(BigInt(WORD_LIMIT), p);
    BigInt gradient_limit = floor_divide(room, BigInt(2));
    BigInt factor = BigInt::power_of_two(unsigned(k) + 1) + BigInt(2) * largest_step * max_degree;
    BigInt model_limit = floor_divide(room - BigInt(1) - gradient_limit, factor);
    if (model_limit < BigInt(1)) throw Refused("AR-10", "no model limit fits below min(2^62, p)");
    return {model_limit, gradient_limit};
}

// AR-3: the nearest lattice point, ties to even; nothing for what is not finite or reaches 2^62 units.
inline std::optional<Vector> to_lattice(const std::vector<double>& values, int f) {
    Vector entries;
    for (double value : values) {
        double scaled = std::nearbyint(std::ldexp(value, f));  // the product is exact or overflows
        if (!(std::fabs(scaled) < double(WORD_LIMIT))) return std::nullopt;
        entries.push_back(int64_t(scaled));
    }
    return entries;
}

// AR-4: Y of the own model and the models of the neighbours.
inline Vector mix(int k, int64_t a, const Vector& own, const std::vector<const Vector*>& models) {
    Vector mixed(own.size());
    for (size_t j = 0; j < own.size(); ++j) {
        int64_t differences = 0;
        for (const Vector* model : models) differences += (*model)[j] - own[j];
        mixed[j] = own[j] * (int64_t(1) << k) + a * differences;
    }
    return mixed;
}

// AR-4: the doubles nearest to Y / 2^(f+k). The conversion rounds to even, the division is exact.
inline std::vector<double> point_of(const Vector& mixed, int f, int k) {
    std::vector<double> point;
    for (int64_t y : mixed) point.push_back(std::ldexp(double(y), -(f + k)));
    return point;
}

// value / 2^bits, rounded to the nearest integer, ties to even.
inline int128 shift_to_even(int128 value, int bits) {
    if (bits == 0) return value;
    int128 floor = value >> bits, rest = value - floor * (int128(1) << bits), half = int128(1) << (bits - 1);
    return rest > half || (rest == half && (floor & 1)) ? floor + 1 : floor;
}

struct Pair {
    Vector model, scaled_gradient;
};

// AR-5, AR-14: the own model and scaled gradient, or nothing where an entry leaves the range.
inline std::optional<Pair> update(int k, int64_t A, int64_t model_limit, int64_t gradient_limit, const Vector& mixed,
                                  const Vector& gradient) {
    Pair pair;
    for (size_t j = 0; j < mixed.size(); ++j) {
        int128 step = int128(A) * gradient[j];  // below 2^126
        int128 x = shift_to_even(int128(mixed[j]) - step, k);
        int128 gamma = mixed[j] - x * (int128(1) << k);
        if (x <= -model_limit || x >= model_limit || gamma <= -gradient_limit || gamma >= gradient_limit) return std::nullopt;
        pair.model.push_back(int64_t(x));
        pair.scaled_gradient.push_back(int64_t(gamma));
    }
    return pair;
}

// AR-8: the gradient read off a message, Gamma // A towards minus infinity.
inline Vector read_gradient(const Vector& scaled_gradient, int64_t A) {
    Vector gradient;
    for (int64_t gamma : scaled_gradient) {
        int64_t quotient = gamma / A;
        gradient.push_back(quotient - (gamma % A < 0));
    }
    return gradient;
}

// AR-12: the exact sum of squares.
inline BigInt squared_norm(const Vector& entries) {
    uint128 low = 0;
    uint64_t high = 0;
    for (int64_t x : entries) {
        uint128 size = x < 0 ? -uint128(x) : uint128(x);
        low += size * size;
        high += low < size * size;
    }
    BigInt sum(low);
    return high ? sum + BigInt(high) * BigInt::power_of_two(128) : sum;
}

// ----------------------------------------------------------------------------------------------------------- hash

// The integers modulo a prime p < 2^64.
class Field {
  public:
    explicit Field(uint64_t p) : p_(p), mersenne_(p == (uint64_t(1) << 61) - 1) {}
    uint64_t prime() const { return p_; }
    uint64_t add(uint64_t a, uint64_t b) const {
        uint128 sum = uint128(a) + b;
        return uint64_t(sum >= p_ ? sum - p_ : sum);
    }
    uint64_t subtract(uint64_t a, uint64_t b) const { return a >= b ? a - b : a + (p_ - b); }
    uint64_t multiply(uint64_t a, uint64_t b) const {
        uint128 product = uint128(a) * b;
        if (!mersenne_) return uint64_t(product % p_);
        uint64_t sum = (uint64_t(product) & p_) + uint64_t(product >> 61);
        return sum >= p_ ? sum - p_ : sum;
    }
    uint64_t power(uint64_t base, uint64_t exponent) const {
        uint64_t result = 1 % p_;
        for (; exponent; exponent >>= 1) {
            if (exponent & 1) result = multiply(result, base);
            base = multiply(base, base);
        }
        return result;
    }
    uint64_t of(int64_t x) const {
        if (x >= 0) return uint64_t(x) % p_;
        uint64_t size = (uint64_t(0) - uint64_t(x)) % p_;
        return size ? p_ - size : 0;
    }
    // HA-3: the sum of xi_i s^(i-1).
    uint64_t hash(uint64_t s, const Vector& xi) const {
        uint64_t sum = 0;
        for (size_t i = xi.size(); i-- > 0;) sum = add(multiply(sum, s), of(xi[i]));
        return sum;
    }

  private:
    uint64_t p_;
    bool mersenne_;
};

inline bool is_prime(uint64_t p) {
    if (p < 2) return false;
    for (uint64_t small : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
        if (p % small == 0) return p == small;
    }
    Field field(p);
    uint64_t odd = p - 1;
    int twos = 0;
    for (; odd % 2 == 0; odd /= 2) ++twos;
    for (uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {  // enough below 2^64
        uint64_t x = field.power(base, odd);
        bool passes = x == 1 || x == p - 1;
        for (int i = 1; i < twos && !passes; ++i) {
            x = field.multiply(x, x);
            passes = x == p - 1;
        }
        if (!passes) return false;
    }
    return true;
}

// HA-1, HA-2: the field must be that of a prime; a power of one would be an extension field.
inline uint64_t check_prime(const BigInt& p) {
    if (p < BigInt(2)) throw Refused("HA-1", "p = " + p.text() + " is no prime");
    if (!p.fits_uint64()) throw Refused("RE-2", "p = " + p.text() + " is not below 2^64");
    uint64_t value = p.to_uint64();
    if (is_prime(value)) return value;
    for (unsigned exponent = 2; exponent < 64; ++exponent) {
        uint64_t root = uint64_t(std::llround(std::pow(static_cast<long double>(value), 1.0L / exponent)));
        for (uint64_t base = root > 2 ? root - 1 : 2; base <= root + 1; ++base) {
            if (is_prime(base) && power(BigInt(base), exponent) == p) {
                throw Refused("HA-2", "p = " + p.text() + " is a power of a prime: extension fields are refused");
            }
        }
    }
    throw Refused("HA-1", "p = " + p.text() + " is no prime");
}

inline void check_length(const BigInt& p, const BigInt& length) {  // HA-1
    if (length >= p) throw Refused("HA-1", "p = " + p.text() + " is not larger than dT = " + length.text());
}

inline uint64_t check_key(const BigInt& p, const BigInt& key) {  // LV-3
    if (key.negative() || key >= p) throw Refused("LV-3", "a key outside of 0..p-1: " + key.text());
    return key.to_uint64();
}

struct Hashes {
    uint64_t out = 0, in = 0, in_eta = 0, gamma = 0;
    bool operator==(const Hashes& other) const {
        return out == other.out && in == other.in && in_eta == other.in_eta && gamma == other.gamma;
    }
};

// HA-9, HA-10: the four hashes of one transcript, in one pass from the last round to the first.
inline Hashes four_hashes(const Field& field, uint64_t s, const Vector& steps, const Vector& start, const std::vector<Pair>& transcript) {
    Hashes hashes;
    uint64_t S = field.power(s, start.size());
    uint64_t after = 0;  // P of the round above
    for (size_t t = transcript.size(); t-- > 0;) {
        if (t + 1 == transcript.size()) after = field.hash(s, transcript[t].model);
        uint64_t before = field.hash(s, t ? transcript[t - 1].model : start);
        hashes.out = field.add(field.multiply(hashes.out, S), after);
        hashes.in = field.add(field.multiply(hashes.in, S), before);
        hashes.in_eta = field.add(field.multiply(hashes.in_eta, S), field.multiply(field.of(steps[t]), before));
        hashes.gamma = field.add(field.multiply(hashes.gamma, S), field.hash(s, transcript[t].scaled_gradient));
        after = before;
    }
    return hashes;
}

// ----------------------------------------------------------------------------------------------------- parameters

struct Weighting {
    std::string name;
    std::vector<BigInt> weights;
    BigInt total;  // W, the sum of the weights (GV-1)
    BigInt optimality, heterogeneity;          // Theta_opt and Theta_het (GV-5, GV-6)
    BigInt optimality_low, heterogeneity_low;  // Theta_opt_low and Theta_het_low, 0 for none (GV-13)
};

// GV-1: W, the sum of the weights.
inline BigInt sum_of_weights(const std::vector<BigInt>& weights) {
    BigInt total;
    for (const BigInt& weight : weights) {
        if (weight.negative()) throw Refused("GV-1", "a negative weight: " + weight.text());
        total += weight;
    }
    if (total < BigInt(1)) throw Refused("GV-1", "the weights are all 0");
    return total;
}

struct Bounds {  // squares of B_t and C_t (LV-2)
    std::vector<BigInt> model_squared, gradient_squared;
};

// An integer of the parameters: a number, or a decimal string (CF-3, VE-3).
inline BigInt integer_of(const Json& value) { return value.is(Json::Text) ? BigInt::parse(value.text()) : value.integer(); }

inline std::vector<BigInt> integers_of(const Json& list) {
    std::vector<BigInt> integers;
    for (const Json& item : list.items()) integers.push_back(integer_of(item));
    return integers;
}

inline Vector words_of(const Json& list) {
    Vector words;
    for (const Json& item : list.items()) words.push_back(integer_of(item).to_int64());
    return words;
}

inline std::vector<std::pair<int64_t, int64_t>> edges_of(const Json& list) {
    std::vector<std::pair<int64_t, int64_t>> edges;
    auto is_agent = [](const Json& value) { return value.is(Json::Integer) && value.fits_word(); };
    for (const Json& edge : list.items()) {
        if (!edge.is(Json::List) || edge.items().size() != 2 || !is_agent(edge.items()[0]) || !is_agent(edge.items()[1])) {
            throw Refused("MO-2", "an edge that is not a pair of agents: " + edge.dump());
        }
        edges.emplace_back(edge.items()[0].word(), edge.items()[1].word());
    }
    return edges;
}

struct Parameters {
    std::vector<std::vector<int>> neighbours;
    size_t d = 0;
    int f = 0, k = 0;
    Vector mixing, gradient;  // a_1..a_T, A_1..A_T
    uint64_t p = 0;
    int64_t model_limit = 0, gradient_limit = 0;  // X_max, G_max
    Vector start;                                 // x_0
    std::optional<Bounds> bounds;                 // nothing: no norm check
    std::vector<Weighting> weightings;
    bool own_key_only = false;  // LV-10

    int agents() const { return int(neighbours.size()); }
    int rounds() const { return int(mixing.size()); }
    int all_rounds() const { return rounds() + 4 * agents() - 1; }  // VA-3

    // VA-9, CF-4: from the public parameters as JSON documents name them.
    static Parameters read(const Json& header) {
        Parameters out;
        out.neighbours = neighbours_of(header.at("agents").word(), edges_of(header.at("edges")));
        int64_t dimension = header.at("dimension").word();
        if (dimension < 1) throw Refused("AR-10", "a dimension below 1");
        out.d = size_t(dimension);
        out.f = check_bits(integer_of(header.at("fraction_bits")));
        out.k = check_bits(integer_of(header.at("step_bits")));

        std::vector<BigInt> mixing = integers_of(header.at("mixing")), gradient = integers_of(header.at("gradient"));
        if (mixing.empty() || mixing.size() != gradient.size()) throw Refused("AR-2", "no steps, or other numbers of a_t and A_t");
        for (const BigInt& a : mixing) out.mixing.push_back(check_step(a));
        for (const BigInt& A : gradient) out.gradient.push_back(check_step(A));
        BigInt largest_step(*std::max_element(out.mixing.begin(), out.mixing.end()));
        BigInt max_degree = integer_of(header.at("max_degree"));
        for (const auto& list : out.neighbours) {
            if (max_degree < BigInt(int64_t(list.size()))) throw Refused("AR-10", "the graph has a degree above " + max_degree.text());
        }
        BigInt p = integer_of(header.at("prime"));
        out.p = check_prime(p);
        check_length(p, BigInt(dimension) * BigInt(int64_t(mixing.size())));
        BigInt model_limit = integer_of(header.at("model_limit")), gradient_limit = integer_of(header.at("gradient_limit"));
        check_range_rule(out.k, largest_step, max_degree, p, model_limit, gradient_limit);
        out.model_limit = model_limit.to_int64();
        out.gradient_limit = gradient_limit.to_int64();

        const Json& start = header.at("start_model");
        std::vector<BigInt> entries = start.is(Json::Null) ? std::vector<BigInt>(out.d) : integers_of(start);
        bool words = std::all_of(entries.begin(), entries.end(), [](const BigInt& x) { return x.fits_int64(); });
        if (entries.size() != out.d || !words) throw Refused("LM-1", "x_0 is not d entries of 64 bits");
        for (const BigInt& x : entries) out.start.push_back(x.to_int64());
        if (!in_range(out.start, out.model_limit)) throw Refused("AR-10", "x_0 has an entry out of range");
        const Json& bounds = header.at("bounds");
        if (!bounds.is(Json::Null)) {
            out.bounds = Bounds{integers_of(bounds.at("model_squared")), integers_of(bounds.at("gradient_squared"))};
            if (out.bounds->model_squared.size() != mixing.size() || out.bounds->gradient_squared.size() != mixing.size()) {
                throw Refused("LV-2", "bounds for another number of rounds");
            }
            for (const auto* squares : {&out.bounds->model_squared, &out.bounds->gradient_squared}) {
                for (const BigInt& square : *squares) {
                    if (square.negative()) throw Refused("LV-2", "a negative square: " + square.text());
                }
            }
        }
        for (const Json& item : header.at("weightings").items()) {
            Weighting weighting;
            weighting.name = item.at("name").text();
            weighting.weights = integers_of(item.at("weights"));
            if (weighting.weights.size() != mixing.size()) throw Refused("GV-1", "weights for another number of rounds");
            weighting.total = sum_of_weights(weighting.weights);
            weighting.optimality = integer_of(item.at("optimality"));
            weighting.heterogeneity = integer_of(item.at("heterogeneity"));
            if (weighting.optimality < BigInt(1) || weighting.heterogeneity < BigInt(1)) {
                throw Refused("GV-7", "a threshold that is not positive");
            }
            weighting.optimality_low = integer_of(item.at("optimality_low"));
            weighting.heterogeneity_low = integer_of(item.at("heterogeneity_low"));
            if (weighting.optimality_low.negative() || weighting.optimality_low > weighting.optimality ||
                weighting.heterogeneity_low.negative() || weighting.heterogeneity_low > weighting.heterogeneity) {
                throw Refused("GV-13", "a lower threshold that is negative or above the upper one");
            }
            out.weightings.push_back(std::move(weighting));
        }
        const std::string& checked = header.at("keys_checked").text();
        if (checked != "all" && checked != "own") throw Refused("LV-10", "keys_checked is neither all nor own");
        out.own_key_only = checked == "own";
        const Json* without = header.find("without");
        if (without && !without->items().empty()) throw Refused("VA-7", "there are no switches for errata here");
        return out;
    }
};

// --------------------------------------------------------------------------------------------------------- alarms

// MO-7, CF-9.
struct Alarm {
    std::string reason, clause, phase;
    int round = 0;
    std::optional<int> sender;
    std::optional<std::string> about;
};

using Inbox = std::map<int, const Json*>;  // by sender; a neighbour that is not in it said nothing

// What a message of a kind looks like: an object with that kind, or nothing.
inline bool has_kind(const Json& message, const char* kind) {
    const Json* found = message.find("kind");
    return found && found->is(Json::Text) && found->text() == kind;
}

inline std::string pair_text(int64_t a, int64_t b) { return std::to_string(a) + "/" + std::to_string(b); }

// ------------------------------------------------------------------------------------------------------ broadcast

const int KEY_SLOT = -1;
using Tag = std::pair<int, int>;  // source and slot (VB-1)

inline std::string tag_text(const Tag& tag) {
    static const char* const names[] = {"key", "fixed", "opening", "report", "sum", "total"};  // of the slots -1 to -6 (RE-4)
    return tag.second < 0 ? std::to_string(tag.first) + "/" + names[-1 - tag.second] : pair_text(tag.first, tag.second);
}

enum class Flood { Fresh, Held };  // VB-4, VB-11

// ValidatedBroadcast of all values of a stage, as one agent runs it. `Value` is a key, a report or an estimate.
template <class Value>
class Broadcast {
  public:
    using Read = std::function<std::optional<Value>(const Json&)>;  // nothing: not of the form of a value
    using Write = std::function<Json(const Value&)>;

    Broadcast(std::string phase, int rounds, std::vector<Tag> tags, Flood flood, Read read, Write write)
        : phase_(std::move(phase)), rounds_(rounds), flood_(flood), read_(std::move(read)), write_(std::move(write)) {
        for (const Tag& tag : tags) slots_[tag];
    }

    // VB-3: the own values.
    void give(const Tag& tag, Value value) {
        Slot& slot = slots_.at(tag);
        slot.held = std::move(value);
        slot.fresh = true;
    }

    const Value* held(const Tag& tag) const {
        auto slot = slots_.find(tag);
        return slot != slots_.end() && slot->second.held ? &*slot->second.held : nullptr;
    }

    // VB-2, VB-4, VB-7.
    Json send(int round) {
        bool everything = round == rounds_ || flood_ == Flood::Held;
        Json entries = Json::list();
        for (auto& [tag, slot] : slots_) {
            if (!slot.held || !(everything || slot.fresh)) continue;
            slot.fresh = false;
            entries.add(Json::list().add(tag.first).add(tag.second).add(write_(*slot.held)));
        }
        return Json::object().set("kind", "entries").set("entries", std::move(entries));
    }

    // VB-5 to VB-9, in the order of MO-12.
    void receive(int round, const std::vector<int>& senders, const Inbox& inbox, std::vector<Alarm>& alarms) {
        for (int sender : senders) {
            auto alarm = [&](const char* reason, const char* clause, std::optional<std::string> about) {
                alarms.push_back({reason, clause, phase_, round, sender, std::move(about)});
            };
            auto found = inbox.find(sender);
            if (found == inbox.end() || found->second->is(Json::Null)) {
                alarm("MISSING_MESSAGE", "MO-8", std::nullopt);
                continue;
            }
            const Json* entries = has_kind(*found->second, "entries") ? found->second->find("entries") : nullptr;
            if (!entries || !entries->is(Json::List)) {
                alarm("MALFORMED_MESSAGE", "MO-8", std::nullopt);
                continue;
            }
            bool unknown = false, twice = false;  // an unknown tag; a public tag that stands there twice
            std::map<Tag, const Json*> values;    // of the public tags
            for (const Json& entry : entries->items()) {
                const Json* value = nullptr;
                std::optional<Tag> tag = tag_of(entry, value);
                if (!tag) unknown = true;
                else if (!values.emplace(*tag, value).second) twice = true;
            }
            if (twice) {
                alarm("MALFORMED_MESSAGE", "MO-8", std::nullopt);
                continue;
            }
            if (unknown) alarm("UNKNOWN_TAG", "VB-9", std::nullopt);
            std::vector<std::pair<Tag, Value>> good;
            for (const auto& [tag, value] : values) {
                if (value->is(Json::Null)) continue;
                std::optional<Value> read = read_(*value);
                if (read) good.emplace_back(tag, std::move(*read));
                else alarm("MALFORMED_VALUE", "VB-9", tag_text(tag));
            }
            for (auto& [tag, value] : good) {
                Slot& slot = slots_.at(tag);
                if (slot.held) {
                    if (!(*slot.held == value)) alarm("DIFFERENT_VALUE", "VB-6", tag_text(tag));
                } else if (round < rounds_) {
                    slot.held = std::move(value);
                    slot.fresh = true;
                }
            }
        }
        if (round < rounds_) return;
        for (const auto& [tag, slot] : slots_) {
            if (!slot.held) alarms.push_back({"NO_VALUE", "VB-8", phase_, round, std::nullopt, tag_text(tag)});
        }
    }

  private:
    struct Slot {
        std::optional<Value> held;
        bool fresh = false;  // became non-null since it was last sent
    };
    std::string phase_;
    int rounds_;
    Flood flood_;
    Read read_;
    Write write_;
    std::map<Tag, Slot> slots_;

    static bool fits_int(const Json& value) {
        return value.is(Json::Integer) && value.fits_word() && value.word() >= INT32_MIN && value.word() <= INT32_MAX;
    }

    // The public tag of an entry [source, slot, value], or nothing.
    std::optional<Tag> tag_of(const Json& entry, const Json*& value) const {
        if (!entry.is(Json::List) || entry.items().size() != 3) return std::nullopt;
        const Json &source = entry.items()[0], &slot = entry.items()[1];
        if (!fits_int(source) || !fits_int(slot)) return std::nullopt;
        Tag tag(int(source.word()), int(slot.word()));
        if (!slots_.count(tag)) return std::nullopt;
        value = &entry.items()[2];
        return tag;
    }
};

// LV-4: a key is an integer in [0, p).
inline std::optional<uint64_t> read_key(const Json& value, uint64_t p) {
    if (!value.is(Json::Integer) || value.digits() > 20) return std::nullopt;
    BigInt key = value.integer();
    if (!key.fits_uint64() || key.to_uint64() >= p) return std::nullopt;
    return key.to_uint64();
}

using Report = std::vector<uint64_t>;

// LV-6: a report is 4|V| integers in [0, p).
inline std::optional<Report> read_report(const Json& value, uint64_t p, int agents) {
    if (!value.is(Json::List) || value.items().size() != 4 * size_t(agents)) return std::nullopt;
    Report report;
    for (const Json& item : value.items()) {
        std::optional<uint64_t> hash = read_key(item, p);
        if (!hash) return std::nullopt;
        report.push_back(*hash);
    }
    return report;
}

using Estimate = std::vector<BigInt>;

// GV-3: what an estimate under one weighting may have.
struct EstimateLimit {
    BigInt entry;   // the largest entry of ghat
    size_t digits;  // of this number, with a sign
};

inline std::vector<EstimateLimit> estimate_limits(const Parameters& parameters) {
    std::vector<EstimateLimit> limits;
    for (const Weighting& weighting : parameters.weightings) {
        BigInt entry = weighting.total * BigInt(parameters.gradient_limit);
        limits.push_back({entry, entry.text().size() + 1});
    }
    return limits;
}

// GV-3, GV-12: an estimate is d integers within these limits for each weighting.
inline std::optional<Estimate> read_estimate(const Json& value, size_t d, const std::vector<EstimateLimit>& limits) {
    if (!value.is(Json::List) || value.items().size() != limits.size() * d) return std::nullopt;
    Estimate estimate;
    for (size_t i = 0; i < value.items().size(); ++i) {
        const Json& item = value.items()[i];
        const EstimateLimit& limit = limits[i / d];
        if (!item.is(Json::Integer)) return std::nullopt;
        if (!item.fits_word() && item.digits() > limit.digits) return std::nullopt;  // too long to be worth reading
        BigInt entry = item.integer();
        if (entry.absolute() > limit.entry) return std::nullopt;
        estimate.push_back(std::move(entry));
    }
    return estimate;
}

// --------------------------------------------------------------------------------------------------- local checks

// LV-2: the norms of what one neighbour sent.
inline void check_norms(const Parameters& parameters, int sender, const std::vector<Pair>& transcript, std::vector<Alarm>& alarms) {
    if (!parameters.bounds) return;
    for (size_t t = 0; t < transcript.size(); ++t) {
        auto alarm = [&](const char* reason) {
            alarms.push_back({reason, "LV-2", "LocalValidate", int(t) + 1, sender, std::nullopt});
        };
        if (squared_norm(transcript[t].model) > parameters.bounds->model_squared[t]) alarm("MODEL_NORM");
        Vector gradient = read_gradient(transcript[t].scaled_gradient, parameters.gradient[t]);
        if (squared_norm(gradient) > parameters.bounds->gradient_squared[t]) alarm("GRADIENT_NORM");
    }
}

// LV-5, LV-6: the report on one transcript, by owners of keys: out, in, in-eta, Gamma.
inline Report report_on(const Parameters& parameters, const std::vector<uint64_t>& keys, const std::vector<Pair>& transcript) {
    Field field(parameters.p);
    Report report;
    for (uint64_t key : keys) {
        Hashes hashes = four_hashes(field, key, parameters.mixing, parameters.start, transcript);
        report.insert(report.end(), {hashes.out, hashes.in, hashes.in_eta, hashes.gamma});
    }
    return report;
}

inline Hashes under_key(const Report& report, int owner) {
    size_t at = 4 * size_t(owner);
    return {report[at], report[at + 1], report[at + 2], report[at + 3]};
}

// LV-7 to LV-11: `held` gives the report of a reporter on an agent, or null.
inline void check_hashes(const Parameters& parameters, int self, const std::function<const Report*(int, int)>& held, const Report& own,
                         std::vector<Alarm>& alarms) {
    const int n = parameters.agents();
    Field field(parameters.p);
    const uint64_t scale = field.power(2 % parameters.p, uint64_t(parameters.k));
    std::vector<const Report*> lowest(size_t(n), nullptr);  // LV-8, LV-11
    for (int v = 0; v < n; ++v) {
        for (int reporter : parameters.neighbours[size_t(v)]) {
            if (!lowest[size_t(v)]) lowest[size_t(v)] = held(reporter, v);
        }
    }
    for (int owner = 0; owner < n; ++owner) {
        if (parameters.own_key_only && owner != self) continue;  // LV-10
        auto alarm = [&](const char* reason, const char* clause, std::optional<int> sender, int about) {
            alarms.push_back({reason, clause, "LocalValidate", n, sender, pair_text(about, owner)});
        };
        for (int v = 0; v < n; ++v) {  // LV-7
            bool consistent = true;
            for (int reporter : parameters.neighbours[size_t(v)]) {
                const Report* report = held(reporter, v);
                if (report && !(under_key(*report, owner) == under_key(*lowest[size_t(v)], owner))) consistent = false;
            }
            if (!consistent) alarm("INCONSISTENT_HASHES", "LV-7", std::nullopt, v);
        }
        for (int v = 0; v < n; ++v) {  // LV-8
            bool known = lowest[size_t(v)] != nullptr;
            for (int u : parameters.neighbours[size_t(v)]) known = known && lowest[size_t(u)];
            if (!known) continue;
            Hashes of_v = under_key(*lowest[size_t(v)], owner);
            uint64_t left = field.multiply(scale, of_v.out), right = field.multiply(scale, of_v.in);
            for (int u : parameters.neighbours[size_t(v)]) {
                right = field.add(right, field.subtract(under_key(*lowest[size_t(u)], owner).in_eta, of_v.in_eta));
            }
            if (left != field.subtract(right, of_v.gamma)) alarm("BROKEN_RELATION", "LV-8", std::nullopt, v);
        }
        for (int reporter : parameters.neighbours[size_t(self)]) {  // LV-9
            const Report* report = held(reporter, self);
            if (report && !(under_key(*report, owner) == under_key(own, owner))) alarm("SELF_MISMATCH", "LV-9", reporter, self);
        }
    }
}

// -------------------------------------------------------------------------------------------------- global checks

// GV-2, GV-12: for each weighting the entries of ghat.
inline Estimate estimate_of(const Parameters& parameters, const std::vector<Pair>& transcript) {
    std::vector<Vector> gradients;
    for (size_t t = 0; t < transcript.size(); ++t) {
        gradients.push_back(read_gradient(transcript[t].scaled_gradient, parameters.gradient[t]));
    }
    Estimate estimate;
    for (const Weighting& weighting : parameters.weightings) {
        bool narrow = weighting.total.fits_int64();  // then a sum is below 2^63 * 2^62 (GV-9)
        for (size_t j = 0; j < parameters.d; ++j) {
            int128 sum = 0;
            BigInt wide;
            for (size_t t = 0; t < gradients.size(); ++t) {
                if (narrow) sum += int128(weighting.weights[t].to_int64()) * gradients[t][j];
                else wide += weighting.weights[t] * BigInt(gradients[t][j]);
            }
            estimate.push_back(narrow ? BigInt(sum) : wide);
        }
    }
    return estimate;
}

struct Statistic {
    BigInt optimality, heterogeneity;
};

// GV-4 to GV-6, GV-8, GV-13: the statistics are those that were tested, nothing if some agent has no estimate.
inline std::optional<std::vector<Statistic>> check_estimates(const Parameters& parameters, int self,
                                                             const std::function<const Estimate*(int, int)>& held,
                                                             const Estimate& own, std::vector<Alarm>& alarms) {
    const int n = parameters.agents();
    auto alarm = [&](const char* reason, const char* clause, std::optional<int> sender, std::string about) {
        alarms.push_back({reason, clause, "GlobalValidate", n, sender, std::move(about)});
    };
    std::vector<const Estimate*> lowest(size_t(n), nullptr);
    for (int v = 0; v < n; ++v) {
        bool consistent = true;
        for (int reporter : parameters.neighbours[size_t(v)]) {
            const Estimate* estimate = held(reporter, v);
            if (!estimate) continue;
            if (!lowest[size_t(v)]) lowest[size_t(v)] = estimate;
            else if (!(*estimate == *lowest[size_t(v)])) consistent = false;
        }
        if (!consistent) alarm("INCONSISTENT_ESTIMATES", "GV-4", std::nullopt, std::to_string(v));
    }
    for (int reporter : parameters.neighbours[size_t(self)]) {
        const Estimate* estimate = held(reporter, self);
        if (estimate && !(*estimate == own)) alarm("SELF_ESTIMATE_MISMATCH", "GV-4", reporter, std::to_string(self));
    }
    if (std::count(lowest.begin(), lowest.end(), nullptr)) return std::nullopt;  // GV-8
    std::vector<Statistic> statistics;
    for (size_t i = 0; i < parameters.weightings.size(); ++i) {
        const Weighting& weighting = parameters.weightings[i];
        size_t begin = i * parameters.d;
        Statistic statistic;
        for (size_t j = 0; j < parameters.d; ++j) {
            BigInt sum;
            for (const Estimate* estimate : lowest) {
                const BigInt& entry = (*estimate)[begin + j];
                sum += entry;
                statistic.heterogeneity += entry * entry;
            }
            statistic.optimality += sum * sum;
        }
        if (statistic.optimality > weighting.optimality * weighting.optimality) {
            alarm("NOT_OPTIMAL", "GV-5", std::nullopt, weighting.name);
        }
        if (statistic.optimality < weighting.optimality_low * weighting.optimality_low) {
            alarm("TOO_OPTIMAL", "GV-13", std::nullopt, weighting.name);
        }
        if (statistic.heterogeneity > weighting.heterogeneity) alarm("TOO_HETEROGENEOUS", "GV-6", std::nullopt, weighting.name);
        if (statistic.heterogeneity < weighting.heterogeneity_low) alarm("TOO_HOMOGENEOUS", "GV-13", std::nullopt, weighting.name);
        statistics.push_back(std::move(statistic));
    }
    return statistics;
}

// ------------------------------------------------------------------------------------------------------ agreement

// ValidationStateAgreement, as one agent runs it.
class Agreement {
  public:
    static Json send(bool alarmed) { return Json::object().set("kind", "flag").set("value", alarmed); }  // SA-2

    // SA-3, SA-4: one reason once for a neighbour (CF-9).
    void receive(int round, const std::vector<int>& senders, const Inbox& inbox, std::vector<Alarm>& alarms) {
        for (int sender : senders) {
            auto alarm = [&](const char* reason, const char* clause) {
                if (!raised_.insert({reason, sender}).second) return;
                alarms.push_back({reason, clause, "ValidationStateAgreement", round, sender, std::nullopt});
            };
            auto found = inbox.find(sender);
            if (found == inbox.end() || found->second->is(Json::Null)) {
                alarm("MISSING_MESSAGE", "MO-8");
                continue;
            }
            const Json* value = has_kind(*found->second, "flag") ? found->second->find("value") : nullptr;
            if (!value || !value->is(Json::Boolean)) alarm("MALFORMED_MESSAGE", "MO-8");
            else if (value->boolean()) alarm("NEIGHBOUR_ALARM", "SA-3");
        }
    }

  private:
    std::set<std::pair<std::string, int>> raised_;
};

// ---------------------------------------------------------------------------------------------------------- agent

// AR-11: the d entries of a received vector, or nothing if it is no int64 vector of shape (d,).
inline std::optional<Vector> read_vector(const Json* value, size_t d) {
    if (!value || !value->is(Json::List) || value->items().size() != d) return std::nullopt;
    Vector entries;
    for (const Json& item : value->items()) {
        if (!item.is(Json::Integer) || !item.fits_word()) return std::nullopt;
        entries.push_back(item.word());
    }
    return entries;
}

inline Json words_json(const Vector& words) {
    Json list = Json::list();
    for (int64_t word : words) list.add(word);
    return list;
}

inline Json integers_json(const std::vector<BigInt>& integers) {
    Json list = Json::list();
    for (const BigInt& integer : integers) list.add(integer);
    return list;
}

inline Json hashes_json(const Report& report) {
    Json list = Json::list();
    for (uint64_t hash : report) list.add(BigInt(hash));
    return list;
}

enum class Phase { Learning, Keys, Hashes, Estimates, Fix, Open, Report, Compare, Agreement };

inline const char* phase_name(Phase phase) {
    switch (phase) {
        case Phase::Learning: return "LearnModel";
        case Phase::Keys: return "LocalValidate.keys";
        case Phase::Hashes: return "LocalValidate.hashes";
        case Phase::Estimates: return "GlobalValidate";
        case Phase::Fix: return "LeanValidate.fix";
        case Phase::Open: return "LeanValidate.open";
        case Phase::Report: return "LeanValidate.report";
        case Phase::Compare: return "LeanValidate.compare";
        default: return "ValidationStateAgreement";
    }
}

// One honest agent in one run. Rounds are counted from 1 to T + 4|V| - 1 through all phases (VA-1, VA-3).
class Agent {
  public:
    Agent(Parameters parameters, int self, uint64_t key, Flood flood)
        : parameters_(std::move(parameters)), self_(self), key_(key), flood_(flood), neighbours_(parameters_.neighbours.at(size_t(self))) {
        for (int u : neighbours_) transcripts_[u];
    }
    virtual ~Agent() = default;

    virtual int last_round() const { return parameters_.all_rounds(); }

    // The phase of a round, and its number in the phase.
    virtual std::pair<Phase, int> place(int round) const {
        const int T = parameters_.rounds(), n = parameters_.agents();
        if (round <= T) return {Phase::Learning, round};
        const Phase later[] = {Phase::Keys, Phase::Hashes, Phase::Estimates, Phase::Agreement};
        return {later[(round - T - 1) / n], (round - T - 1) % n + 1};
    }

    // AR-4, LM-2: Y of learning round t.
    Vector mixed(int round) const {
        std::vector<const Vector*> models;
        for (int u : neighbours_) models.push_back(&model_of(transcripts_.at(u), round - 1));
        return mix(parameters_.k, parameters_.mixing[size_t(round) - 1], model_of(record_, round - 1), models);
    }
    std::vector<double> point(const Vector& mixed) const { return point_of(mixed, parameters_.f, parameters_.k); }

    // AR-3: the lattice form of the private gradient, nothing if it cannot be used (AR-14).
    std::optional<Vector> lattice_gradient(const std::vector<double>& gradient) const {
        if (gradient.size() != parameters_.d) return std::nullopt;
        return to_lattice(gradient, parameters_.f);
    }

    // LM-2, AR-14: the pair of round t, or silence from the round on in which the own update leaves the range.
    Json send_learning(int round, const std::optional<Vector>& gradient) {
        std::optional<Pair> pair;
        if (!silent_ && gradient) {
            pair = update(parameters_.k, parameters_.gradient[size_t(round) - 1], parameters_.model_limit,
                          parameters_.gradient_limit, mixed(round), *gradient);
        }
        if (!pair && !silent_) {
            silent_ = true;
            alarms_.push_back({"OWN_UPDATE_OUT_OF_RANGE", "AR-14", "LearnModel", round, std::nullopt, std::to_string(self_)});
        }
        if (!pair) {
            record_.push_back(zeros());  // LM-4
            return Json();
        }
        record_.push_back(*pair);  // LM-3
        return Json::object()
            .set("kind", "learning")
            .set("model", words_json(pair->model))
            .set("scaled_gradient", words_json(pair->scaled_gradient));
    }

    // What is said in a round after learning.
    virtual Json send(int round) {
        auto [phase, number] = place(round);
        switch (phase) {
            case Phase::Keys: return keys().send(number);
            case Phase::Hashes: return reports().send(number);
            case Phase::Estimates: return estimates().send(number);
            case Phase::Agreement: return Agreement::send(!alarms_.empty());
            default: throw std::logic_error("a learning round needs a gradient");
        }
    }

    // What goes to single neighbours instead of what is sent to all (CF-6).
    virtual std::vector<std::pair<int, Json>> addressed(int) { return {}; }

    virtual void receive(int round, const Inbox& inbox) {
        auto [phase, number] = place(round);
        const int n = parameters_.agents();
        switch (phase) {
            case Phase::Keys: keys().receive(number, neighbours_, inbox, alarms_); break;
            case Phase::Hashes:
                reports().receive(number, neighbours_, inbox, alarms_);
                if (number == n) {
                    auto held = [&](int reporter, int v) { return reports_->held({reporter, v}); };
                    check_hashes(parameters_, self_, held, report_on(parameters_, all_keys(), record_), alarms_);
                }
                break;
            case Phase::Estimates:
                estimates().receive(number, neighbours_, inbox, alarms_);
                if (number == n) {
                    auto held = [&](int reporter, int v) { return estimates_->held({reporter, v}); };
                    check_estimates(parameters_, self_, held, estimate_of(parameters_, record_), alarms_);
                }
                break;
            default: receive_common(phase, number, inbox);
        }
    }

    const std::vector<Alarm>& alarms() const { return alarms_; }
    bool valid() const { return alarms_.empty(); }                                      // VA-2
    const Vector& model() const { return model_of(record_, parameters_.rounds()); }     // LM-6
    const Parameters& parameters() const { return parameters_; }

  protected:
    Parameters parameters_;
    int self_;
    uint64_t key_;
    Flood flood_;
    std::vector<int> neighbours_;
    std::map<int, std::vector<Pair>> transcripts_;  // what was received, by neighbour and round
    std::vector<Pair> record_;                      // what was sent
    bool silent_ = false;
    std::vector<Alarm> alarms_;

    // Learning and the agreement, which are the same with every validation.
    void receive_common(Phase phase, int number, const Inbox& inbox) {
        if (phase == Phase::Agreement) return agreement_.receive(number, neighbours_, inbox, alarms_);
        receive_learning(number, inbox);
        if (number < parameters_.rounds()) return;
        for (int u : neighbours_) check_norms(parameters_, u, transcripts_.at(u), alarms_);
    }

  private:
    std::optional<Broadcast<uint64_t>> keys_;
    std::optional<Broadcast<Report>> reports_;
    std::optional<Broadcast<Estimate>> estimates_;
    Agreement agreement_;

    Pair zeros() const { return {Vector(parameters_.d, 0), Vector(parameters_.d, 0)}; }

    const Vector& model_of(const std::vector<Pair>& pairs, int round) const {
        return round == 0 ? parameters_.start : pairs.at(size_t(round) - 1).model;
    }

    // LM-3, LM-4, AR-11.
    void receive_learning(int round, const Inbox& inbox) {
        for (int u : neighbours_) {
            auto alarm = [&](const char* reason, const char* clause) {
                alarms_.push_back({reason, clause, "LearnModel", round, u, std::nullopt});
            };
            std::vector<Pair>& transcript = transcripts_.at(u);
            transcript.push_back(zeros());
            auto found = inbox.find(u);
            if (found == inbox.end() || found->second->is(Json::Null)) {
                alarm("MISSING_MESSAGE", "MO-8");
                continue;
            }
            std::optional<Vector> model, scaled_gradient;
            if (has_kind(*found->second, "learning")) {
                model = read_vector(found->second->find("model"), parameters_.d);
                scaled_gradient = read_vector(found->second->find("scaled_gradient"), parameters_.d);
            }
            if (!model || !scaled_gradient) {
                alarm("MALFORMED_MESSAGE", "MO-8");
            } else if (!in_range(*model, parameters_.model_limit) || !in_range(*scaled_gradient, parameters_.gradient_limit)) {
                alarm("OUT_OF_RANGE", "AR-11");
            } else {
                transcript.back() = {std::move(*model), std::move(*scaled_gradient)};
            }
        }
    }

    // One slot per agent and neighbour: reports and estimates (LV-6, GV-3).
    std::vector<Tag> report_tags() const {
        std::vector<Tag> tags;
        for (int v = 0; v < parameters_.agents(); ++v) {
            for (int u : parameters_.neighbours[size_t(v)]) tags.emplace_back(v, u);
        }
        return tags;
    }

    // LV-4: the keys held, with 0 for those that never came.
    std::vector<uint64_t> all_keys() {
        std::vector<uint64_t> all;
        for (int v = 0; v < parameters_.agents(); ++v) {
            const uint64_t* key = keys().held({v, KEY_SLOT});
            all.push_back(key ? *key : 0);
        }
        return all;
    }

    Broadcast<uint64_t>& keys() {
        if (!keys_) {
            std::vector<Tag> tags;
            for (int v = 0; v < parameters_.agents(); ++v) tags.emplace_back(v, KEY_SLOT);
            keys_.emplace(phase_name(Phase::Keys), parameters_.agents(), tags, flood_,
                          [p = parameters_.p](const Json& value) { return read_key(value, p); },
                          [](uint64_t key) { return Json(BigInt(key)); });
            keys_->give({self_, KEY_SLOT}, key_);
        }
        return *keys_;
    }

    Broadcast<Report>& reports() {
        if (!reports_) {
            reports_.emplace(phase_name(Phase::Hashes), parameters_.agents(), report_tags(), flood_,
                             [p = parameters_.p, n = parameters_.agents()](const Json& value) { return read_report(value, p, n); },
                             hashes_json);
            for (int u : neighbours_) reports_->give({self_, u}, report_on(parameters_, all_keys(), transcripts_.at(u)));
        }
        return *reports_;
    }

    Broadcast<Estimate>& estimates() {
        if (!estimates_) {
            auto read = [d = parameters_.d, limits = estimate_limits(parameters_)](const Json& value) {
                return read_estimate(value, d, limits);
            };
            estimates_.emplace(phase_name(Phase::Estimates), parameters_.agents(), report_tags(), flood_, read, integers_json);
            for (int u : neighbours_) estimates_->give({self_, u}, estimate_of(parameters_, transcripts_.at(u)));
        }
        return *estimates_;
    }
};
