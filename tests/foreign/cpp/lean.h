// Lean validation, one agent: routes, encodings, floods, checks (spec/lean-validation.md).
#pragma once

#include <array>

#include "protocol.h"

using Value = std::vector<BigInt>;  // a flooded value, a sum or the total

const int FIXED_SLOT = -2, OPENING_SLOT = -3, REPORT_SLOT = -4, SUM_SLOT = -5, TOTAL_SLOT = -6;  // RE-4
const size_t MOST_DIGITS = 100;  // no admitted integer has more

// --------------------------------------------------------------------------------------------------------- SHA-256

// SHA-256 (FIPS 180-4) of a text.
inline std::array<uint8_t, 32> sha256(std::string text) {
    static const uint32_t K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    auto turned = [](uint32_t x, int bits) { return x >> bits | x << (32 - bits); };
    uint64_t length = uint64_t(text.size()) * 8;
    text.push_back(char(0x80));
    while (text.size() % 64 != 56) text.push_back('\0');
    for (int shift = 56; shift >= 0; shift -= 8) text.push_back(char(length >> shift));
    for (size_t begin = 0; begin < text.size(); begin += 64) {
        uint32_t w[64];
        for (size_t i = 0; i < 16; ++i) {
            w[i] = 0;
            for (size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | uint8_t(text[begin + 4 * i + j]);
        }
        for (size_t i = 16; i < 64; ++i) {
            uint32_t s0 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
        for (size_t i = 0; i < 64; ++i) {
            uint32_t first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
            uint32_t second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
        }
        const uint32_t added[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; ++i) state[i] += added[i];
    }
    std::array<uint8_t, 32> digest;
    for (size_t i = 0; i < 32; ++i) digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

// ------------------------------------------------------------------------------------------------- encodings, LE-9

// The bytes of an integer from 0 on, highest first, without leading zeros.
inline std::string number_bytes(BigInt value) {
    std::string bytes;
    const BigInt word = BigInt::power_of_two(32);
    while (!value.zero()) {
        auto [rest, low] = BigInt::divide(value, word);
        uint64_t limb = low.to_uint64();
        for (int i = 0; i < 4; ++i, limb >>= 8) bytes.push_back(char(limb & 255));
        value = rest;
    }
    while (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();
    return std::string(bytes.rbegin(), bytes.rend());
}

inline std::string framed(const std::vector<std::string>& pieces) {
    std::string out;
    for (const std::string& piece : pieces) {
        for (int shift = 56; shift >= 0; shift -= 8) out.push_back(char(uint64_t(piece.size()) >> shift));
        out += piece;
    }
    return out;
}

inline BigInt hashed(const std::string& purpose, const std::string& run, const std::vector<std::string>& pieces) {
    std::vector<std::string> all = {"valid-ref/lean/1/" + purpose, run};
    all.insert(all.end(), pieces.begin(), pieces.end());
    BigInt value;
    for (uint8_t byte : sha256(framed(all))) value = value * BigInt(256) + BigInt(int(byte));
    return value;
}

inline std::vector<std::string> numbers_bytes(const Value& value) {
    std::vector<std::string> pieces;
    for (const BigInt& integer : value) pieces.push_back(number_bytes(integer));
    return pieces;
}

// What agent v commits to an opening, the nonce and the shares, with.
inline BigInt commitment_of(const std::string& run, int v, const Value& opening) {
    Value all = {BigInt(v)};
    all.insert(all.end(), opening.begin(), opening.end());
    return hashed("commitment", run, numbers_bytes(all));
}

using Held = std::function<const Value*(int, int)>;  // the value of an agent in a slot, or null

// LE-13.
inline BigInt digest_of(const std::string& run, int agents, const Held& held) {
    std::vector<std::string> pieces;
    for (int v = 0; v < agents; ++v) {
        for (int slot : {FIXED_SLOT, OPENING_SLOT, REPORT_SLOT}) {
            const Value* value = held(v, slot);
            pieces.push_back(value ? framed(numbers_bytes(*value)) : std::string());
        }
    }
    return hashed("digest", run, pieces);
}

// ----------------------------------------------------------------------------------------------------------- routes

// LE-2, and the rounds of LE-8.
struct Routes {
    std::vector<std::vector<int>> distances, children;
    std::vector<int> parent, sizes;  // the parent of the root is -1
    int diameter = 0, height = 0, root = 0;

    explicit Routes(const std::vector<std::vector<int>>& neighbours) {
        const int n = int(neighbours.size());
        for (int v = 0; v < n; ++v) {
            std::vector<int> row(neighbours.size(), -1), queue = {v};
            row[size_t(v)] = 0;
            for (size_t next = 0; next < queue.size(); ++next) {
                for (int u : neighbours[size_t(queue[next])]) {
                    if (row[size_t(u)] >= 0) continue;
                    row[size_t(u)] = row[size_t(queue[next])] + 1;
                    queue.push_back(u);
                }
            }
            int farthest = *std::max_element(row.begin(), row.end());
            if (v == 0 || farthest < height) height = farthest, root = v;
            diameter = std::max(diameter, farthest);
            distances.push_back(std::move(row));
        }
        children.resize(neighbours.size());
        for (int v = 0; v < n; ++v) {
            auto nearer = [&](int u) { return depth(u) < depth(v); };
            const auto& list = neighbours[size_t(v)];
            auto found = std::find_if(list.begin(), list.end(), nearer);
            parent.push_back(found == list.end() ? -1 : *found);
            if (found != list.end()) children[size_t(*found)].push_back(v);
        }
        for (int v = 0; v < n; ++v) sizes.push_back(size(v));
    }
    int depth(int v) const { return distances[size_t(root)][size_t(v)]; }
    int up(int v) const { return height - depth(v) + 1; }
    int down(int v) const { return height + depth(v); }

  private:
    int size(int v) const {
        int sum = 1;
        for (int u : children[size_t(v)]) sum += size(u);
        return sum;
    }
};

// ------------------------------------------------------------------------------------------------------- parameters

struct LeanParameters {
    Parameters common;
    int kappa;
    std::string run;              // the 32 bytes of the name of the run
    std::vector<BigInt> largest;  // L of every weighting (LE-3)
    Routes routes;

    // LE-1, LE-3.
    static LeanParameters read(const Json& header) {
        Parameters common = Parameters::read(header);
        const Json& lean = header.at("lean");
        BigInt kappa = integer_of(lean.at("kappa"));
        if (kappa < BigInt(1) || kappa > BigInt(64)) throw Refused("LE-1", "kappa is not in 1..64: " + kappa.text());
        const std::string& name = lean.at("run").text();
        if (name.size() != 64 || name.find_first_not_of("0123456789abcdef") != std::string::npos) {
            throw Refused("LE-1", "the name of the run is not 64 hexadecimal digits");
        }
        const Json* without = lean.find("without");
        if (without && !without->items().empty()) throw Refused("LE-18", "no part can be left out here");
        if (common.own_key_only) throw Refused("LE-1", "lean validation checks all keys");
        std::string run;
        for (size_t i = 0; i < 64; i += 2) run.push_back(char(std::stoi(name.substr(i, 2), nullptr, 16)));
        std::vector<BigInt> largest;
        for (const Weighting& weighting : common.weightings) {
            BigInt sum;
            for (size_t t = 0; t < common.mixing.size(); ++t) {
                BigInt A(common.gradient[t]);
                BigInt limit = floor_divide(BigInt(common.gradient_limit) - BigInt(1) + A - BigInt(1), A);
                if (common.bounds) limit = std::min(limit, integer_root(common.bounds->gradient_squared[t]));
                sum += weighting.weights[t] * limit;
            }
            if (BigInt(2 * common.agents()) * sum >= BigInt(common.p)) throw Refused("LE-3", "a sum could wrap");
            largest.push_back(sum);
        }
        Routes routes(common.neighbours);
        return {std::move(common), int(kappa.to_int64()), run, std::move(largest), std::move(routes)};
    }

    int agents() const { return common.agents(); }
    int all_rounds() const { return common.rounds() + 2 * routes.height + 2 * routes.diameter + agents(); }  // LE-5

    // What every integer of a flooded value is below (LE-7, LE-10, LE-11).
    Value limits(int slot) const {
        const BigInt beyond = BigInt::power_of_two(256), p(common.p);
        if (slot == REPORT_SLOT) return Value(size_t(kappa) * (4 + largest.size()), p);
        Value out = {beyond};
        if (slot == OPENING_SLOT) out.insert(out.end(), size_t(kappa), p);
        else for (const BigInt& L : largest) out.push_back(BigInt(int64_t(common.d)) * L * L + BigInt(1));
        return out;
    }
};

// LE-4.
inline Value check_opening(const LeanParameters& parameters, const Value& opening) {
    Value limits = parameters.limits(OPENING_SLOT);
    bool fits = opening.size() == limits.size();
    for (size_t i = 0; fits && i < limits.size(); ++i) fits = !opening[i].negative() && opening[i] < limits[i];
    if (!fits) throw Refused("LE-4", "the opening is no nonce with as many shares as there are keys");
    return opening;
}

// LE-10: the sums of the shares of all openings that came; null is one that did not.
inline std::vector<uint64_t> common_keys(uint64_t p, size_t kappa, const std::vector<const Value*>& openings) {
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < kappa; ++i) {
        BigInt sum;
        for (const Value* opening : openings) {
            if (opening) sum += (*opening)[1 + i];
        }
        keys.push_back(modulo(sum, BigInt(p)).to_uint64());
    }
    return keys;
}

// The hash of entries of any size (HA-3).
inline uint64_t hash_entries(const Field& field, uint64_t s, const BigInt* begin, const BigInt* end) {
    uint64_t sum = 0;
    while (end != begin) sum = field.add(field.multiply(sum, s), modulo(*--end, BigInt(field.prime())).to_uint64());
    return sum;
}

inline BigInt square_of_entries(const BigInt* begin, const BigInt* end) {
    BigInt sum;
    for (; begin != end; ++begin) sum += *begin * *begin;
    return sum;
}

struct OwnWords {
    Value numbers, report;
    Estimate estimate;
};

// What an agent with this record says of itself (LE-7, LE-11).
inline OwnWords own_words(const Parameters& parameters, const std::vector<uint64_t>& keys, const std::vector<Pair>& transcript) {
    OwnWords out;
    out.estimate = estimate_of(parameters, transcript);
    Field field(parameters.p);
    const BigInt* entries = out.estimate.data();
    const size_t d = parameters.d, m = parameters.weightings.size();
    for (size_t i = 0; i < m; ++i) out.numbers.push_back(square_of_entries(entries + i * d, entries + (i + 1) * d));
    Report four = report_on(parameters, keys, transcript);
    for (size_t key = 0; key < keys.size(); ++key) {
        for (size_t j = 0; j < 4; ++j) out.report.push_back(BigInt(four[4 * key + j]));
        for (size_t i = 0; i < m; ++i) out.report.push_back(BigInt(hash_entries(field, keys[key], entries + i * d, entries + (i + 1) * d)));
    }
    return out;
}

// ------------------------------------------------------------------------------------------- floods and the tree

inline Json entries_json(const std::map<Tag, Value>& values) {
    Json entries = Json::list();
    for (const auto& [tag, value] : values) entries.add(Json::list().add(tag.first).add(tag.second).add(integers_json(value)));
    return Json::object().set("kind", "entries").set("entries", std::move(entries));
}

// LE-6, LE-8: one agent in one flood; with a summand a sum travels along the tree beside it.
class LeanFlood {
  public:
    LeanFlood(const LeanParameters& parameters, std::string phase, int slot, int rounds, int self, Value own, std::optional<Value> summand)
        : parameters_(parameters), phase_(std::move(phase)), slot_(slot), rounds_(rounds), self_(self), summand_(std::move(summand)),
          limits_(parameters.limits(slot)) {
        const int n = parameters.agents(), root = parameters.routes.root;
        for (int v = 0; v < n; ++v) tags_.emplace_back(v, slot);
        for (int v = 0; summand_ && v < n; ++v) {
            if (v != root) tags_.emplace_back(v, SUM_SLOT);
        }
        if (summand_) tags_.emplace_back(root, TOTAL_SLOT);
        fresh_[{self, slot}] = held_[{self, slot}] = std::move(own);
    }

    const Value* held(int source, int slot) const {
        auto found = held_.find({source, slot});
        return found == held_.end() ? nullptr : &found->second;
    }

    Json send(int round) const { return entries_json(usual(round)); }

    // What goes to the parent or the children alone.
    std::vector<std::pair<int, Json>> addressed(int round) const {
        const Routes& routes = parameters_.routes;
        std::vector<std::pair<int, Json>> out;
        if (!summand_) return out;
        std::map<Tag, Value> values = usual(round);
        const int parent = routes.parent[size_t(self_)];
        if (parent >= 0 && round == routes.up(self_)) {
            values[{self_, SUM_SLOT}] = subtree();
            out.emplace_back(parent, entries_json(values));
        }
        const Value* total = held(routes.root, TOTAL_SLOT);
        if (total && round == routes.down(self_) + 1) {
            values[{routes.root, TOTAL_SLOT}] = *total;
            for (int u : routes.children[size_t(self_)]) out.emplace_back(u, entries_json(values));
        }
        return out;
    }

    void receive(int round, const Inbox& inbox, std::vector<Alarm>& alarms) {
        const Routes& routes = parameters_.routes;
        fresh_.clear();
        for (int sender : parameters_.common.neighbours[size_t(self_)]) hear(round, sender, inbox, alarms);
        if (summand_ && self_ == routes.root && round == routes.height) held_[{self_, TOTAL_SLOT}] = subtree();
        if (round < rounds_) return;
        for (const Tag& tag : tags_) {
            bool expected = tag.second != SUM_SLOT || routes.parent[size_t(tag.first)] == self_;
            if (expected && !held_.count(tag)) alarms.push_back({"NO_VALUE", "VB-8", phase_, round, std::nullopt, tag_text(tag)});
        }
    }

  private:
    const LeanParameters& parameters_;
    std::string phase_;
    int slot_, rounds_, self_;
    std::optional<Value> summand_;
    Value limits_;
    std::vector<Tag> tags_;  // in the order of the alarms
    std::map<Tag, Value> held_, fresh_;

    std::map<Tag, Value> usual(int round) const { return round <= parameters_.routes.diameter ? fresh_ : std::map<Tag, Value>(); }

    Value subtree() const {
        Value sum = *summand_;
        for (int u : parameters_.routes.children[size_t(self_)]) {
            const Value* part = held(u, SUM_SLOT);
            for (size_t j = 0; part && j < sum.size(); ++j) sum[j] += (*part)[j];
        }
        return sum;
    }

    // The first and the last round in which a tag may come from a neighbour; nothing if in none.
    std::optional<std::pair<int, int>> window(int sender, const Tag& tag) const {
        const Routes& routes = parameters_.routes;
        if (tag.second == slot_) return std::make_pair(routes.distances[size_t(sender)][size_t(tag.first)] + 1, routes.diameter);
        if (tag.second == SUM_SLOT && tag.first == sender && routes.parent[size_t(sender)] == self_) {
            return std::make_pair(routes.up(sender), routes.up(sender));
        }
        if (tag.second == TOTAL_SLOT && routes.parent[size_t(self_)] == sender) return std::make_pair(routes.down(self_), routes.down(self_));
        return std::nullopt;
    }

    std::optional<Value> read(const Tag& tag, const Json& json) const {
        const bool tree = tag.second != slot_;
        const size_t d = parameters_.common.d, size = tree ? d * parameters_.largest.size() : limits_.size();
        if (!json.is(Json::List) || json.items().size() != size) return std::nullopt;
        const BigInt count(tag.second == SUM_SLOT ? parameters_.routes.sizes[size_t(tag.first)] : parameters_.agents());
        Value value;
        for (size_t i = 0; i < size; ++i) {
            const Json& item = json.items()[i];
            if (!item.is(Json::Integer) || item.digits() > MOST_DIGITS) return std::nullopt;
            value.push_back(item.integer());
            const BigInt& entry = value.back();
            if (tree ? entry.absolute() > count * parameters_.largest[i / d] : entry.negative() || entry >= limits_[i]) return std::nullopt;
        }
        return value;
    }

    void hear(int round, int sender, const Inbox& inbox, std::vector<Alarm>& alarms) {
        auto alarm = [&](const char* reason, const char* clause, std::optional<std::string> about) {
            alarms.push_back({reason, clause, phase_, round, sender, std::move(about)});
        };
        auto found = inbox.find(sender);
        if (found == inbox.end() || found->second->is(Json::Null)) return alarm("MISSING_MESSAGE", "MO-8", std::nullopt);
        const Json* entries = has_kind(*found->second, "entries") ? found->second->find("entries") : nullptr;
        if (!entries || !entries->is(Json::List)) return alarm("MALFORMED_MESSAGE", "MO-8", std::nullopt);
        bool unknown = false;
        std::map<Tag, const Json*> told;
        for (const Json& entry : entries->items()) {
            std::optional<Tag> tag = tag_of(entry);
            if (!tag) unknown = true;
            else if (!told.emplace(*tag, &entry.items()[2]).second) return alarm("MALFORMED_MESSAGE", "MO-8", std::nullopt);
            else if (!window(sender, *tag)) unknown = true;
        }
        if (unknown) alarm("UNKNOWN_TAG", "VB-9", std::nullopt);
        for (const Tag& tag : tags_) {
            auto entry = told.find(tag);
            auto when = window(sender, tag);
            if (entry == told.end() || !when || entry->second->is(Json::Null)) continue;
            std::optional<Value> value = read(tag, *entry->second);
            const Value* own = held(tag.first, tag.second);
            if (!value) alarm("MALFORMED_VALUE", "VB-9", tag_text(tag));
            else if (round < when->first) alarm("EARLY_VALUE", "LE-6", tag_text(tag));
            else if (round > when->second) alarm("LATE_VALUE", "LE-6", tag_text(tag));
            else if (own) {
                if (!(*own == *value)) alarm("DIFFERENT_VALUE", "VB-6", tag_text(tag));
            } else {
                if (tag.second == slot_) fresh_[tag] = *value;
                held_[tag] = std::move(*value);
            }
        }
    }

    // The tag of this phase of an entry [source, slot, value], or nothing.
    std::optional<Tag> tag_of(const Json& entry) const {
        if (!entry.is(Json::List) || entry.items().size() != 3) return std::nullopt;
        const Json &source = entry.items()[0], &slot = entry.items()[1];
        if (!source.is(Json::Integer) || !source.fits_word() || !slot.is(Json::Integer) || !slot.fits_word()) return std::nullopt;
        for (const Tag& tag : tags_) {
            if (tag.first == source.word() && tag.second == slot.word()) return tag;
        }
        return std::nullopt;
    }
};

// ------------------------------------------------------------------------------------------------------------ agent

// One honest agent in a run with lean validation.
class LeanAgent : public Agent {
  public:
    LeanAgent(LeanParameters parameters, int self, const Value& opening)
        : Agent(parameters.common, self, 0, Flood::Fresh), lean_(std::move(parameters)), opening_(check_opening(lean_, opening)) {}
    LeanAgent(const LeanAgent&) = delete;  // floods refer to the parameters

    int last_round() const override { return lean_.all_rounds(); }

    std::pair<Phase, int> place(int round) const override {
        const int T = lean_.common.rounds(), D = lean_.routes.diameter;
        const std::pair<Phase, int> phases[] = {{Phase::Learning, T}, {Phase::Fix, 2 * lean_.routes.height}, {Phase::Open, D}, {Phase::Report, D}, {Phase::Compare, 1}};
        for (auto [phase, length] : phases) {
            if (round <= length) return {phase, round};
            round -= length;
        }
        return {Phase::Agreement, round};
    }

    Json send(int round) override {
        auto [phase, number] = place(round);
        if (phase == Phase::Agreement) return Agreement::send(!alarms_.empty());
        if (phase == Phase::Compare) return Json::object().set("kind", "digest").set("value", digest());
        return flood(phase).send(number);
    }

    std::vector<std::pair<int, Json>> addressed(int round) override {
        auto [phase, number] = place(round);
        return phase == Phase::Fix ? flood(phase).addressed(number) : std::vector<std::pair<int, Json>>();
    }

    void receive(int round, const Inbox& inbox) override {
        auto [phase, number] = place(round);
        if (phase == Phase::Learning || phase == Phase::Agreement) return receive_common(phase, number, inbox);
        if (phase == Phase::Compare) return compare(number, inbox);
        flood(phase).receive(number, inbox, alarms_);
        if (place(round + 1).first == phase) return;
        if (phase == Phase::Open) check_openings(number);
        if (phase == Phase::Report) check_reports(number);
    }

  private:
    LeanParameters lean_;
    Value opening_;
    std::vector<uint64_t> keys_;  // the common ones
    std::map<Phase, std::unique_ptr<LeanFlood>> floods_;

    LeanFlood& flood(Phase phase) {
        auto& found = floods_[phase];
        if (found) return *found;
        const int D = lean_.routes.diameter, rounds = phase == Phase::Fix ? 2 * lean_.routes.height : D;
        int slot = OPENING_SLOT;
        Value own = opening_;
        std::optional<Value> summand;
        if (phase != Phase::Open) {
            OwnWords words = own_words(lean_.common, keys_, record_);
            slot = phase == Phase::Fix ? FIXED_SLOT : REPORT_SLOT;
            own = words.report;
            if (phase == Phase::Fix) {
                own = {commitment_of(lean_.run, self_, opening_)};
                own.insert(own.end(), words.numbers.begin(), words.numbers.end());
                summand = words.estimate;
            }
        }
        found = std::make_unique<LeanFlood>(lean_, phase_name(phase), slot, rounds, self_, std::move(own), std::move(summand));
        return *found;
    }

    const Value* held(int v, int slot) {
        return flood(slot == FIXED_SLOT ? Phase::Fix : slot == OPENING_SLOT ? Phase::Open : Phase::Report).held(v, slot);
    }

    std::vector<const Value*> of_all(int slot) {
        std::vector<const Value*> values;
        for (int v = 0; v < lean_.agents(); ++v) values.push_back(held(v, slot));
        return values;
    }

    BigInt digest() {
        return digest_of(lean_.run, lean_.agents(), [&](int v, int slot) { return held(v, slot); });
    }

    void check_openings(int round) {  // LE-10
        for (int v = 0; v < lean_.agents(); ++v) {
            const Value *fixed = held(v, FIXED_SLOT), *opening = held(v, OPENING_SLOT);
            if (fixed && opening && commitment_of(lean_.run, v, *opening) != (*fixed)[0]) {
                alarms_.push_back({"OPENING_MISMATCH", "LE-10", phase_name(Phase::Open), round, std::nullopt, std::to_string(v)});
            }
        }
        keys_ = common_keys(lean_.common.p, size_t(lean_.kappa), of_all(OPENING_SLOT));
    }

    void check_reports(int round) {  // LE-12
        const Parameters& common = lean_.common;
        const size_t m = common.weightings.size(), width = 4 + m, d = common.d;
        auto alarm = [&](const char* reason, const char* clause, std::optional<int> sender, std::string about) {
            alarms_.push_back({reason, clause, phase_name(Phase::Report), round, sender, std::move(about)});
        };
        for (int u : neighbours_) {
            OwnWords words = own_words(common, keys_, transcripts_.at(u));
            const Value *fixed = held(u, FIXED_SLOT), *report = held(u, REPORT_SLOT);
            if (fixed && !(Value(fixed->begin() + 1, fixed->end()) == words.numbers)) alarm("RECORD_MISMATCH", "LE-12", u, tag_text({u, FIXED_SLOT}));
            if (report && !(*report == words.report)) alarm("RECORD_MISMATCH", "LE-12", u, tag_text({u, REPORT_SLOT}));
        }
        std::vector<const Value*> reports = of_all(REPORT_SLOT), fixed = of_all(FIXED_SLOT);
        const BigInt p(common.p), scale = BigInt::power_of_two(unsigned(common.k));
        for (size_t key = 0; key < keys_.size(); ++key) {
            for (int v = 0; v < lean_.agents(); ++v) {
                const auto& near = common.neighbours[size_t(v)];
                bool known = reports[size_t(v)] && std::all_of(near.begin(), near.end(), [&](int u) { return reports[size_t(u)]; });
                if (!known) continue;
                auto word = [&](int u, size_t j) -> const BigInt& { return (*reports[size_t(u)])[key * width + j]; };
                BigInt rest = scale * (word(v, 0) - word(v, 1)) + word(v, 3);
                for (int u : near) rest = rest - (word(u, 2) - word(v, 2));
                if (!modulo(rest, p).zero()) alarm("BROKEN_RELATION", "LV-8", std::nullopt, pair_text(v, int64_t(key)));
            }
        }
        const Value* total = flood(Phase::Fix).held(lean_.routes.root, TOTAL_SLOT);
        bool all = std::all_of(reports.begin(), reports.end(), [](const Value* report) { return report; });
        Field field(common.p);
        for (size_t i = 0; total && all && i < m; ++i) {
            bool differs = false;
            for (size_t key = 0; key < keys_.size(); ++key) {
                BigInt sum;
                for (const Value* report : reports) sum += (*report)[key * width + 4 + i];
                uint64_t hash = hash_entries(field, keys_[key], total->data() + i * d, total->data() + (i + 1) * d);
                differs = differs || !modulo(sum - BigInt(hash), p).zero();
            }
            if (differs) alarm("WRONG_TOTAL", "LE-12", std::nullopt, common.weightings[i].name);
        }
        bool numbers = std::all_of(fixed.begin(), fixed.end(), [](const Value* value) { return value; });
        for (size_t i = 0; i < m; ++i) {
            const Weighting& weighting = common.weightings[i];
            if (total) {
                BigInt drift = square_of_entries(total->data() + i * d, total->data() + (i + 1) * d);
                if (drift > weighting.optimality * weighting.optimality) alarm("NOT_OPTIMAL", "GV-5", std::nullopt, weighting.name);
                if (drift < weighting.optimality_low * weighting.optimality_low) alarm("TOO_OPTIMAL", "GV-13", std::nullopt, weighting.name);
            }
            if (numbers) {
                BigInt spread;
                for (const Value* value : fixed) spread += (*value)[1 + i];
                if (spread > weighting.heterogeneity) alarm("TOO_HETEROGENEOUS", "GV-6", std::nullopt, weighting.name);
                if (spread < weighting.heterogeneity_low) alarm("TOO_HOMOGENEOUS", "GV-13", std::nullopt, weighting.name);
            }
        }
    }

    void compare(int round, const Inbox& inbox) {  // LE-13
        const BigInt own = digest(), beyond = BigInt::power_of_two(256);
        for (int sender : neighbours_) {
            auto alarm = [&](const char* reason, const char* clause) {
                alarms_.push_back({reason, clause, phase_name(Phase::Compare), round, sender, std::nullopt});
            };
            auto found = inbox.find(sender);
            if (found == inbox.end() || found->second->is(Json::Null)) {
                alarm("MISSING_MESSAGE", "MO-8");
                continue;
            }
            const Json* value = has_kind(*found->second, "digest") ? found->second->find("value") : nullptr;
            bool good = value && value->is(Json::Integer) && value->digits() <= MOST_DIGITS;
            BigInt said = good ? value->integer() : BigInt(-1);
            if (said.negative() || said >= beyond) alarm("MALFORMED_MESSAGE", "MO-8");
            else if (said != own) alarm("DIGEST_MISMATCH", "LE-13");
        }
    }
};
