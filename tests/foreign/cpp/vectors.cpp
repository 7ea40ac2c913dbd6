// Runs the test vectors of spec/vectors/ (spec/vectors.md) through protocol.h.
//
//     vectors [DIR] [--json]
//
// Exit status: 0 if nothing failed, 1 if a case failed, 2 if the vectors cannot be used.

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "lean.h"

namespace {

// A fault of the vectors or of this program, not of the implementation: it stops the test.
struct HarnessError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// ------------------------------------------------------------------------------------- numbers as the vectors write them

std::string text_of(const BigInt& value) { return value.text(); }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(uint64_t value) { return std::to_string(value); }
std::string text_of(const Rational& value) { return value.text(); }

template <class Number>
Json texts_json(const std::vector<Number>& numbers) {
    Json list = Json::list();
    for (const Number& number : numbers) list.add(text_of(number));
    return list;
}

Rational rational_of(const Json& value) { return Rational::parse(value.text()); }

std::vector<Rational> rationals_of(const Json& list) {
    std::vector<Rational> out;
    for (const Json& item : list.items()) out.push_back(rational_of(item));
    return out;
}

double double_of(const Json& value) {
    uint64_t bits = std::stoull(value.text(), nullptr, 16);
    double out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}

std::string double_text(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    char digits[20];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(bits));
    return digits;
}

int int_of(const Json& value) { return int(value.word()); }
int bits_of(const Json& value) { return check_bits(value.integer()); }

std::vector<Vector> rows_of(const Json& list) {
    std::vector<Vector> rows;
    for (const Json& row : list.items()) rows.push_back(words_of(row));
    return rows;
}

std::vector<const Vector*> pointers_to(const std::vector<Vector>& rows) {
    std::vector<const Vector*> pointers;
    for (const Vector& row : rows) pointers.push_back(&row);
    return pointers;
}

std::vector<Pair> transcript_of(const Json& list) {
    std::vector<Pair> transcript;
    for (const Json& item : list.items()) transcript.push_back({words_of(item.at("model")), words_of(item.at("scaled_gradient"))});
    return transcript;
}

Json accepted() { return Json::object().set("accepted", true); }

// ------------------------------------------------------------------------------------------------------------- graph

Json graph(const Json& in) {
    Json lists = Json::list();
    for (const auto& neighbours : neighbours_of(in.at("agents").word(), edges_of(in.at("edges")))) {
        Json list = Json::list();
        for (int u : neighbours) list.add(u);
        lists.add(std::move(list));
    }
    return Json::object().set("neighbours", std::move(lists));
}

std::set<int> agents_of(const Json& list) {
    std::set<int> agents;
    for (const Json& item : list.items()) agents.insert(int_of(item));
    return agents;
}

// AD-5, AD-6, AD-8.
Json assumptions(const Json& in) {
    auto neighbours = neighbours_of(in.at("agents").word(), edges_of(in.at("edges")));
    std::set<int> byzantine = agents_of(in.at("byzantine")), reached;
    std::vector<int> open;
    size_t honest = neighbours.size() - byzantine.size();
    for (int v = 0; v < int(neighbours.size()) && open.empty(); ++v) {
        if (!byzantine.count(v)) open.push_back(v);
    }
    reached.insert(open.begin(), open.end());
    while (!open.empty()) {
        int v = open.back();
        open.pop_back();
        for (int u : neighbours[size_t(v)]) {
            if (!byzantine.count(u) && reached.insert(u).second) open.push_back(u);
        }
    }
    bool first = honest > 0 && reached.size() == honest;
    Json hidden = Json::list();
    for (int v : byzantine) {
        const auto& list = neighbours[size_t(v)];
        if (std::all_of(list.begin(), list.end(), [&](int u) { return byzantine.count(u) > 0; })) hidden.add(v);
    }
    bool second = first && hidden.items().empty();
    return Json::object().set("assumption_1", first).set("assumption_1_plus", second).set("hidden", std::move(hidden));
}

// -------------------------------------------------------------------------------------------------------- parameters

Json public_parameters(const Json& in) {
    Parameters parameters = Parameters::read(in.at("parameters"));
    Json sums = Json::list();
    for (const Weighting& weighting : parameters.weightings) sums.add(weighting.total.text());
    return Json::object().set("rounds", parameters.all_rounds()).set("weight_sums", std::move(sums));
}

// ----------------------------------------------------------------------------------------------------------- lattice

Json step_size(const Json& in) {  // AR-2
    Rational scale(BigInt::power_of_two(unsigned(bits_of(in.at("step_bits")))));
    return Json::object().set("step", text_of(check_step((rational_of(in.at("size")) * scale).nearest())));
}

BigInt largest_of(const std::vector<BigInt>& values) { return *std::max_element(values.begin(), values.end()); }

Json limits(const Json& in) {
    auto [model, gradient] = default_limits(bits_of(in.at("step_bits")), largest_of(integers_of(in.at("mixing"))),
                                            in.at("max_degree").integer(), integer_of(in.at("prime")));
    return Json::object().set("model_limit", model.text()).set("gradient_limit", gradient.text());
}

Json range_rule(const Json& in) {
    BigInt largest = check_range_rule(bits_of(in.at("step_bits")), largest_of(integers_of(in.at("mixing"))),
                                      in.at("max_degree").integer(), integer_of(in.at("prime")),
                                      integer_of(in.at("model_limit")), integer_of(in.at("gradient_limit")));
    return Json::object().set("largest_intermediate", largest.text());
}

Json lattice_point(const Json& in) {
    std::vector<double> values;
    for (const Json& item : in.at("values").items()) values.push_back(double_of(item));
    std::optional<Vector> entries = to_lattice(values, bits_of(in.at("fraction_bits")));
    if (!entries) throw Refused("AR-3", "a value that is not finite or reaches 2^62 units");
    return Json::object().set("entries", texts_json(*entries));
}

Json point(const Json& in) {
    Json values = Json::list();
    for (double value : point_of(words_of(in.at("Y")), bits_of(in.at("fraction_bits")), bits_of(in.at("step_bits")))) {
        values.add(double_text(value));
    }
    return Json::object().set("values", std::move(values));
}

Json shift(const Json& in) {
    Json entries = Json::list();
    for (int64_t entry : words_of(in.at("entries"))) entries.add(BigInt(shift_to_even(entry, int_of(in.at("bits")))).text());
    return Json::object().set("entries", std::move(entries));
}

Json mixing(const Json& in) {
    std::vector<Vector> models = rows_of(in.at("neighbours"));
    Vector mixed = mix(bits_of(in.at("step_bits")), integer_of(in.at("a")).to_int64(), words_of(in.at("own")), pointers_to(models));
    return Json::object().set("Y", texts_json(mixed));
}

Json updating(const Json& in) {
    std::optional<Pair> pair =
        update(bits_of(in.at("step_bits")), integer_of(in.at("A")).to_int64(), integer_of(in.at("model_limit")).to_int64(),
               integer_of(in.at("gradient_limit")).to_int64(), words_of(in.at("Y")), words_of(in.at("Ghat")));
    if (!pair) return Json::object().set("silent", true);
    return Json::object().set("model", texts_json(pair->model)).set("scaled_gradient", texts_json(pair->scaled_gradient));
}

Json residual(const Json& in) {  // AR-6
    int k = bits_of(in.at("step_bits"));
    std::vector<Vector> models = rows_of(in.at("neighbours"));
    Vector mixed = mix(k, integer_of(in.at("a")).to_int64(), words_of(in.at("previous")), pointers_to(models));
    Vector x = words_of(in.at("x")), gamma = words_of(in.at("Gamma"));
    Json residual = Json::list();
    for (size_t j = 0; j < x.size(); ++j) residual.add(BigInt(int128(x[j]) * (int128(1) << k) - mixed[j] + gamma[j]).text());
    return Json::object().set("residual", std::move(residual));
}

Json reading_gradient(const Json& in) {
    Vector gradient = read_gradient(words_of(in.at("Gamma")), integer_of(in.at("A")).to_int64());
    return Json::object().set("gradient", texts_json(gradient));
}

Json norm(const Json& in) { return Json::object().set("square", squared_norm(words_of(in.at("entries"))).text()); }

Json range(const Json& in) {
    return Json::object().set("in_range", in_range(words_of(in.at("entries")), integer_of(in.at("limit")).to_int64()));
}

// -------------------------------------------------------------------------------------------------------------- hash

Json field(const Json& in) {
    check_prime(integer_of(in.at("prime")));
    return accepted();
}

Json length(const Json& in) {
    BigInt p = integer_of(in.at("prime"));
    check_prime(p);
    check_length(p, in.at("length").integer());
    return accepted();
}

Json key(const Json& in) {
    check_key(integer_of(in.at("prime")), integer_of(in.at("key")));
    return accepted();
}

Json hash(const Json& in) {
    Field field(check_prime(integer_of(in.at("prime"))));
    uint64_t s = integer_of(in.at("key")).to_uint64(), power = 1;
    BigInt integer_form;  // HA-4
    for (const BigInt& entry : integers_of(in.at("vector"))) {
        integer_form += entry * BigInt(power);
        power = field.multiply(power, s);
    }
    uint64_t value = field.hash(s, words_of(in.at("vector")));
    return Json::object().set("hash", text_of(value)).set("integer_form", integer_form.text());
}

Json colliding_keys(const Json& in) {
    Field field(check_prime(integer_of(in.at("prime"))));
    Vector vector = words_of(in.at("vector"));
    std::vector<uint64_t> keys;
    for (uint64_t s = 0; s < field.prime(); ++s) {
        if (field.hash(s, vector) == 0) keys.push_back(s);
    }
    return Json::object().set("keys", texts_json(keys));
}

Json collision_bound(const Json& in) {  // HA-8
    Rational one(in.at("length").integer() - BigInt(1), integer_of(in.at("prime"))), bound(1);
    for (int i = 0; i < int_of(in.at("keys")); ++i) bound = bound * one;
    return Json::object().set("bound", bound.text());
}

Json round_polynomials(const Json& in) {  // HA-9
    Field field(check_prime(integer_of(in.at("prime"))));
    std::vector<uint64_t> values;
    for (const Vector& row : rows_of(in.at("rows"))) values.push_back(field.hash(integer_of(in.at("key")).to_uint64(), row));
    return Json::object().set("values", texts_json(values));
}

Json hashes_of_transcript(const Json& in) {  // HA-10
    Field field(check_prime(integer_of(in.at("prime"))));
    std::vector<Vector> models = rows_of(in.at("models")), gammas = rows_of(in.at("scaled_gradients"));
    std::vector<Pair> transcript;
    for (size_t t = 0; t < models.size(); ++t) transcript.push_back({models[t], gammas.at(t)});
    Json list = Json::list();
    for (const BigInt& key : integers_of(in.at("keys"))) {
        Hashes hashes = four_hashes(field, key.to_uint64(), words_of(in.at("mixing")), words_of(in.at("start")), transcript);
        list.add(Json::object()
                     .set("key", key.text())
                     .set("out", text_of(hashes.out))
                     .set("into", text_of(hashes.in))
                     .set("into_eta", text_of(hashes.in_eta))
                     .set("gamma", text_of(hashes.gamma)));
    }
    return Json::object().set("hashes", std::move(list));
}

// ------------------------------------------------------------------------------------------- checks of single values

Json alarms_json(const std::vector<Alarm>& alarms) {
    Json list = Json::list();
    for (const Alarm& alarm : alarms) {
        list.add(Json::object()
                     .set("reason", alarm.reason)
                     .set("clause", alarm.clause)
                     .set("phase", alarm.phase)
                     .set("round", alarm.round)
                     .set("sender", alarm.sender ? Json(*alarm.sender) : Json())
                     .set("about", alarm.about ? Json(*alarm.about) : Json()));
    }
    return list;
}

Json numbers_json(const Json& texts) {
    Json list = Json::list();
    for (const Json& item : texts.items()) list.add(integer_of(item));
    return list;
}

// The values on the wire that a case stands for; of the kind `other` there are several, and each must be malformed.
std::vector<Json> wire_values(const Json& value) {
    const std::string& kind = value.at("kind").text();
    if (kind == "integer") return {Json(integer_of(value.at("value")))};
    if (kind == "integers") return {numbers_json(value.at("entries"))};
    if (kind != "other") throw HarnessError("an unknown kind of value: " + kind);
    std::vector<Json> bad = {Json::object().set("other", value.at("text").text()), Json(true), Json(1.0), Json("1"), Json::object()};
    for (const Json& entry : std::vector<Json>(bad)) {
        for (size_t size : {2, 12}) {  // the lengths of a good estimate and of a good report
            Json list = Json::list().add(entry);
            while (list.items().size() < size) list.add(1);
            bad.push_back(std::move(list));
        }
    }
    return bad;
}

template <class Form>
Json well_formed(const Json& in, Form form) {
    bool good = false;
    for (const Json& value : wire_values(in.at("value"))) good = good || form(value).has_value();
    return Json::object().set("well_formed", good);
}

Json key_form(const Json& in) {
    uint64_t p = integer_of(in.at("prime")).to_uint64();
    return well_formed(in, [&](const Json& value) { return read_key(value, p); });
}

Json report_form(const Json& in) {
    uint64_t p = integer_of(in.at("prime")).to_uint64();
    int agents = int_of(in.at("agents"));
    return well_formed(in, [&](const Json& value) { return read_report(value, p, agents); });
}

Json estimate_form(const Json& in) {
    Parameters parameters = Parameters::read(in.at("parameters"));
    auto limits = estimate_limits(parameters);
    return well_formed(in, [&](const Json& value) { return read_estimate(value, parameters.d, limits); });
}

Json norms(const Json& in) {
    std::vector<Alarm> alarms;
    check_norms(Parameters::read(in.at("parameters")), int_of(in.at("sender")), transcript_of(in.at("transcript")), alarms);
    return Json::object().set("alarms", alarms_json(alarms));
}

Report hashes_of(const Json& list) {
    Report report;
    for (const BigInt& hash : integers_of(list)) report.push_back(hash.to_uint64());
    return report;
}

Json report(const Json& in) {
    Report report = report_on(Parameters::read(in.at("parameters")), hashes_of(in.at("keys")), transcript_of(in.at("transcript")));
    return Json::object().set("hashes", texts_json(report));
}

Json hash_checks(const Json& in) {
    std::map<Tag, Report> reports;
    for (const Json& item : in.at("reports").items()) {
        reports[{int_of(item.at("reporter")), int_of(item.at("agent"))}] = hashes_of(item.at("hashes"));
    }
    auto held = [&](int reporter, int agent) {
        auto found = reports.find({reporter, agent});
        return found == reports.end() ? nullptr : &found->second;
    };
    std::vector<Alarm> alarms;
    check_hashes(Parameters::read(in.at("parameters")), int_of(in.at("agent")), held, hashes_of(in.at("own")), alarms);
    return Json::object().set("alarms", alarms_json(alarms));
}

// ----------------------------------------------------------------------------------------------- GlobalValidate

Json exponential_weights(const Json& in) {  // GV-1
    Rational gamma = rational_of(in.at("gamma"));
    if (gamma.negative() || gamma > Rational(1)) throw Refused("GV-1", "gamma is not in 0..1: " + gamma.text());
    int rounds = int_of(in.at("rounds")), bits = int_of(in.at("bits"));
    if (bits > 60) throw Refused("GV-1", "the bits of a weight are not in 0..60: " + std::to_string(bits));
    std::vector<BigInt> weights(static_cast<size_t>(rounds));
    Rational weight(BigInt::power_of_two(unsigned(bits)));
    for (size_t t = weights.size(); t-- > 0; weight = weight * gamma) weights[t] = weight.nearest();
    return Json::object().set("weights", texts_json(weights));
}

Json polynomial_weights(const Json& in) {  // GV-1
    std::vector<BigInt> weights;
    for (int t = 1; t <= int_of(in.at("rounds")); ++t) weights.push_back(power(BigInt(t), unsigned(int_of(in.at("power")))));
    return Json::object().set("weights", texts_json(weights));
}

Json thresholds(const Json& in) {  // GV-5, GV-6, GV-7
    Rational optimality = rational_of(in.at("eps_opt")), heterogeneity = rational_of(in.at("delta_plus_eps_het"));
    if (optimality <= Rational(0) || heterogeneity <= Rational(0)) throw Refused("GV-7", "a tolerance is not positive");
    BigInt total = sum_of_weights(integers_of(in.at("weights")));
    BigInt agents(in.at("agents").word()), unit = BigInt::power_of_two(unsigned(bits_of(in.at("fraction_bits"))));
    BigInt first = (optimality * Rational(agents * total * unit)).ceiling();
    BigInt second = (heterogeneity * Rational(agents * total * total * unit * unit)).ceiling();
    return Json::object().set("optimality", first.text()).set("heterogeneity", second.text());
}

Json estimate(const Json& in) {
    Estimate estimate = estimate_of(Parameters::read(in.at("parameters")), transcript_of(in.at("transcript")));
    return Json::object().set("estimate", texts_json(estimate));
}

Json estimate_checks(const Json& in) {
    std::map<Tag, Estimate> estimates;
    for (const Json& item : in.at("estimates").items()) {
        estimates[{int_of(item.at("reporter")), int_of(item.at("agent"))}] = integers_of(item.at("entries"));
    }
    auto held = [&](int reporter, int agent) {
        auto found = estimates.find({reporter, agent});
        return found == estimates.end() ? nullptr : &found->second;
    };
    std::vector<Alarm> alarms;
    auto statistics = check_estimates(Parameters::read(in.at("parameters")), int_of(in.at("agent")), held, integers_of(in.at("own")), alarms);
    Json list;
    if (statistics) {
        list = Json::list();
        for (const Statistic& statistic : *statistics) {
            list.add(Json::object()
                         .set("optimality", statistic.optimality.text())
                         .set("heterogeneity", statistic.heterogeneity.text()));
        }
    }
    return Json::object().set("alarms", alarms_json(alarms)).set("statistics", std::move(list));
}

// ------------------------------------------------------------------------------------------------------- bounds, GU-8

// The least integer m >= 0 with m^2 >= value.
BigInt root_up(const Rational& value) {
    if (value <= Rational(0)) return BigInt(0);
    BigInt square = value.ceiling(), root = integer_root(square);
    return root * root < square ? root + BigInt(1) : root;
}

Json root(const Json& in) { return Json::object().set("root", root_up(rational_of(in.at("value"))).text()); }

Json squares_json(const std::vector<BigInt>& models, const std::vector<BigInt>& gradients) {
    Json first = Json::list(), second = Json::list();
    for (const BigInt& bound : models) first.add((bound * bound).text());
    for (const BigInt& bound : gradients) second.add((bound * bound).text());
    return Json::object().set("model_squared", std::move(first)).set("gradient_squared", std::move(second));
}

Json derive(const Json& in) {
    Rational mu = rational_of(in.at("mu")), beta = rational_of(in.at("beta"));
    if (in.at("F0").is(Json::Null)) throw Refused("GU-8", "F0 is infinite");
    Rational loss = rational_of(in.at("F0"));
    if (mu <= Rational(0) || mu > beta || loss.negative()) throw Refused("GU-8", "not 0 < mu <= beta and F0 >= 0");
    unsigned k = unsigned(bits_of(in.at("step_bits")));
    BigInt scale = BigInt::power_of_two(k), max_degree = in.at("max_degree").integer();
    std::vector<BigInt> steps = integers_of(in.at("gradient"));
    for (const BigInt& a : integers_of(in.at("mixing"))) {
        if (a * max_degree > scale) throw Refused("GU-8", "a_t maxdeg is above 2^k");
    }
    Rational unit_squared(BigInt::power_of_two(2 * unsigned(bits_of(in.at("fraction_bits"))))), d(in.at("dimension").integer());
    const Rational one(1), two(2), half(BigInt(1), BigInt(2)), tau = half;
    BigInt start_gradient = root_up(two * beta * loss * unit_squared);  // G0
    BigInt bound = root_up(Rational(integer_of(in.at("start_squared"))));  // B_0
    std::vector<BigInt> models, gradients;
    for (const BigInt& A : steps) {
        Rational alpha(A, scale);
        Rational slack = half + alpha * (half + tau), read_off = Rational(scale, BigInt(2) * A) + Rational(BigInt(3), BigInt(2)) + tau;
        gradients.push_back(start_gradient + (beta * Rational(bound)).ceiling() + root_up(d * read_off * read_off));
        Rational contraction = std::max((one - alpha * mu).absolute(), (one - alpha * beta).absolute());  // q_t of AN-1
        BigInt next = (contraction * Rational(bound) + alpha * Rational(start_gradient)).ceiling();
        if (alpha * beta <= one) {
            next = std::min(next, root_up((one - alpha * mu) * Rational(bound * bound) + two * alpha * loss * unit_squared));
        }
        bound = next + root_up(d * slack * slack);
        models.push_back(bound);
    }
    return squares_json(models, gradients);
}

Json configure(const Json& in) {
    Rational unit(BigInt::power_of_two(unsigned(bits_of(in.at("fraction_bits")))));
    Rational model = rational_of(in.at("model")), gradient = rational_of(in.at("gradient"));
    if (model <= Rational(0) || gradient <= Rational(0)) throw Refused("LV-2", "a bound is not positive");
    size_t rounds = size_t(int_of(in.at("rounds")));
    return squares_json(std::vector<BigInt>(rounds, (model * unit).ceiling()), std::vector<BigInt>(rounds, (gradient * unit).ceiling()));
}

Json conflicts(const Json& in) {
    BigInt model_limit = integer_of(in.at("model_limit")), gradient_limit = integer_of(in.at("gradient_limit"));
    std::vector<BigInt> models = integers_of(in.at("model_squared")), gradients = integers_of(in.at("gradient_squared"));
    std::vector<BigInt> steps = integers_of(in.at("gradient"));
    models.push_back(integer_of(in.at("start_squared")));
    int count = 0;
    for (const BigInt& square : models) count += root_up(Rational(square)) >= model_limit;
    for (size_t t = 0; t < steps.size(); ++t) count += steps[t] * root_up(Rational(gradients.at(t))) >= gradient_limit;
    return Json::object().set("conflicts", count);
}

// -------------------------------------------------------------------------------------- admissible models, GU-1 to GU-6

using Point = std::vector<Rational>;

struct Loss {
    Point hessian, centre;  // the diagonal, and the minimiser
    Point gradient(const Point& x) const {
        Point out;
        for (size_t j = 0; j < x.size(); ++j) out.push_back(hessian[j] * (x[j] - centre[j]));
        return out;
    }
};

std::vector<Loss> losses_of(const Json& in) {
    std::vector<Loss> losses;
    for (const Json& item : in.at("losses").items()) losses.push_back({rationals_of(item.at("hessian")), rationals_of(item.at("centre"))});
    return losses;
}

Rational square_of(const Point& point) {
    Rational sum(0);
    for (const Rational& x : point) sum = sum + x * x;
    return sum;
}

// U of GU-2: not empty, and agents that exist.
std::vector<Loss> chosen(const Json& in, const std::vector<Loss>& losses) {
    std::vector<Loss> out;
    for (int agent : agents_of(in.at("agents"))) {
        if (agent < 0 || size_t(agent) >= losses.size()) throw Refused("GU-2", "no such agent: " + std::to_string(agent));
        out.push_back(losses[size_t(agent)]);
    }
    if (out.empty()) throw Refused("GU-2", "U is empty");
    return out;
}

// The sum of the gradients at x, and the sum of their squares.
std::pair<Point, Rational> sums_at(const std::vector<Loss>& losses, const Point& x) {
    Point sum(x.size(), Rational(0));
    Rational squares(0);
    for (const Loss& loss : losses) {
        Point gradient = loss.gradient(x);
        for (size_t j = 0; j < x.size(); ++j) sum[j] = sum[j] + gradient[j];
        squares = squares + square_of(gradient);
    }
    return {sum, squares};
}

Rational count_of(size_t count) { return Rational(BigInt(int64_t(count))); }

Json heterogeneity(const Json& in) {  // GU-1
    std::vector<Loss> losses = losses_of(in);
    Point best;
    for (size_t j = 0; j < losses[0].centre.size(); ++j) {
        Rational weight(0), sum(0);
        for (const Loss& loss : losses) {
            weight = weight + loss.hessian[j];
            sum = sum + loss.hessian[j] * loss.centre[j];
        }
        best.push_back(sum / weight);
    }
    return Json::object().set("delta", (sums_at(losses, best).second / count_of(losses.size())).text());
}

Json phi(const Json& in) {  // GU-3
    std::vector<Loss> losses = losses_of(in), of_agents = chosen(in, losses);
    size_t free = losses.size() - of_agents.size();
    auto [sum, squares] = sums_at(of_agents, rationals_of(in.at("point")));
    Json vectors = Json::list(), value;
    if (free == 0) {
        if (square_of(sum).zero()) value = squares.text();
    } else {
        Point vector;
        for (const Rational& s : sum) vector.push_back(Rational(0) - s / count_of(free));
        for (size_t i = 0; i < free; ++i) vectors.add(texts_json(vector));
        value = (squares + square_of(sum) / count_of(free)).text();
    }
    return Json::object().set("phi", std::move(value)).set("vectors", std::move(vectors));
}

Json member(const Json& in) {  // GU-4, decided exactly although |s| may be irrational
    std::vector<Loss> losses = losses_of(in), of_agents = chosen(in, losses);
    Rational n = count_of(losses.size()), free = count_of(losses.size() - of_agents.size());
    auto [sum, squares] = sums_at(of_agents, rationals_of(in.at("point")));
    Rational reach = n * rational_of(in.at("e1")), room = n * rational_of(in.at("e2")) - squares, length = square_of(sum);
    bool inside = !room.negative();
    if (inside && length > reach * reach) {  // |s| > n e1: is (|s| - n e1)^2 <= b room?
        Rational rest = length + reach * reach - free * room;
        inside = !free.zero() && (rest <= Rational(0) || rest * rest <= Rational(4) * reach * reach * length);
    }
    return Json::object().set("member", inside);
}

Json ellipsoid(const Json& in) {  // GU-5
    std::vector<Loss> losses = losses_of(in), of_agents = chosen(in, losses);
    Rational n = count_of(losses.size()), free = count_of(losses.size() - of_agents.size());
    if (free.zero()) throw Refused("GU-5", "no agent is free");
    Point matrix, centre;
    for (size_t j = 0; j < losses[0].centre.size(); ++j) {
        Rational h(0), hh(0), hc(0), hhc(0);
        for (const Loss& loss : of_agents) {
            h = h + loss.hessian[j];
            hh = hh + loss.hessian[j] * loss.hessian[j];
            hc = hc + loss.hessian[j] * loss.centre[j];
            hhc = hhc + loss.hessian[j] * loss.hessian[j] * loss.centre[j];
        }
        matrix.push_back(hh + h * h / free);
        centre.push_back((hhc + h * hc / free) / matrix.back());
    }
    auto [sum, squares] = sums_at(of_agents, centre);
    Rational level = n * rational_of(in.at("delta")) - squares - square_of(sum) / free;
    return Json::object().set("matrix", texts_json(matrix)).set("centre", texts_json(centre)).set("level", level.text());
}

double to_double(const Rational& value) { return value.numerator().to_double() / value.denominator().to_double(); }

Json distance(const Json& in) {  // GU-6
    std::vector<Loss> losses = losses_of(in), of_agents = chosen(in, losses);
    Rational h = losses[0].hessian[0], members = count_of(of_agents.size()), n = count_of(losses.size());
    for (const Loss& loss : losses) {
        for (const Rational& entry : loss.hessian) {
            if (!(entry == h)) throw HarnessError("a distance is only known from a ball");
        }
    }
    Point mean(losses[0].centre.size(), Rational(0)), point = rationals_of(in.at("point"));
    for (const Loss& loss : of_agents) {
        for (size_t j = 0; j < mean.size(); ++j) mean[j] = mean[j] + loss.centre[j] / members;
    }
    Rational spread(0), from_mean(0);
    for (size_t j = 0; j < mean.size(); ++j) {
        for (const Loss& loss : of_agents) spread = spread + (loss.centre[j] - mean[j]) * (loss.centre[j] - mean[j]);
        from_mean = from_mean + (point[j] - mean[j]) * (point[j] - mean[j]);
    }
    Rational room = n * rational_of(in.at("delta")) / (h * h) - spread;
    if (room.negative()) return Json::object().set("distance", Json());
    Rational radius = (n - members) / (members * n) * room;
    return Json::object().set("distance", std::max(0.0, std::sqrt(to_double(from_mean)) - std::sqrt(to_double(radius))));
}

// --------------------------------------------------------------------------------------------- messages and whole runs

// A message of the vectors in the form of CF-7; entries stand in the order of their tags.
Json wire_message(const Json& message, const std::string& phase, const Json* tables) {
    if (message.is(Json::Null)) return Json();
    const std::string& kind = message.at("kind").text();
    if (kind == "flag" || kind == "other") return message;
    if (kind == "digest") return Json::object().set("kind", "digest").set("value", integer_of(message.at("value")));
    if (kind == "learning") {
        return Json::object()
            .set("kind", "learning")
            .set("model", numbers_json(message.at("model")))
            .set("scaled_gradient", numbers_json(message.at("scaled_gradient")));
    }
    if (kind != "entries") throw HarnessError("an unknown kind of message: " + kind);
    std::vector<std::pair<Tag, Json>> entries;
    for (const Json& item : message.at("keys").items()) {
        entries.emplace_back(Tag(int_of(item.items().at(0)), KEY_SLOT), integer_of(item.items().at(1)));
    }
    for (const Json& item : message.at("rows").items()) {
        if (!tables) throw HarnessError("a row without a table");
        Tag tag(int_of(item.items().at(0)), int_of(item.items().at(1)));
        const Json& table = tables->at(phase == "GlobalValidate" || tag.second <= SUM_SLOT ? "estimates" : "reports");
        entries.emplace_back(tag, numbers_json(table.items().at(size_t(int_of(item.items().at(2))))));
    }
    for (const Json& item : message.at("nulls").items()) {
        entries.emplace_back(Tag(int_of(item.items().at(0)), int_of(item.items().at(1))), Json());
    }
    for (const Json& item : message.at("malformed").items()) {
        entries.emplace_back(Tag(int_of(item.items().at(0)), int_of(item.items().at(1))), Json::object().set("other", "malformed"));
    }
    if (message.at("unknown_tags").boolean()) entries.emplace_back(Tag(-1, -1), Json(0));
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Json list = Json::list();
    for (auto& [tag, value] : entries) list.add(Json::list().add(tag.first).add(tag.second).add(std::move(value)));
    return Json::object().set("kind", "entries").set("entries", std::move(list));
}

// The expected result with its messages in the form of CF-7.
Json wire_expected(const Json& expected, const Json* tables) {
    if (!expected.find("said")) return expected;
    Json out = Json::object();
    for (const auto& [name, value] : expected.members()) {
        if (name != "said" && name != "addressed") {
            out.set(name, value);
            continue;
        }
        Json words = Json::list();
        for (const Json& item : value.items()) {
            Json word = Json::object();
            for (const auto& [field, part] : item.members()) {
                word.set(field, field == "message" ? wire_message(part, item.at("phase").text(), tables) : part);
            }
            words.add(std::move(word));
        }
        out.set(name, std::move(words));
    }
    return out;
}

// What Byzantine agents say, by phase, round, sender and receiver.
class Words {
  public:
    Words(const Json& in) {
        for (const Json& item : in.at("words").items()) {
            const std::string& phase = item.at("phase").text();
            Json message = wire_message(item.at("message"), phase, in.find("tables"));
            for (const Json& receiver : item.at("receivers").items()) {
                said_[{phase, int_of(item.at("round")), int_of(item.at("sender")), int_of(receiver)}] = message;
            }
        }
    }
    const Json* find(const std::string& phase, int round, int sender, int receiver) const {
        auto found = said_.find({phase, round, sender, receiver});
        return found == said_.end() ? nullptr : &found->second;
    }

  private:
    std::map<std::tuple<std::string, int, int, int>, Json> said_;
};

using Apart = std::map<std::pair<int, int>, Json>;  // what goes from one agent to another alone

// Delivers one round and writes down what the honest agents said.
template <class Send, class Receive>
void play_round(const std::vector<std::vector<int>>& neighbours, const std::set<int>& byzantine, const Words& words,
                const std::string& phase, int round, Json& said, Send send, Receive receive, const Apart& apart = {}) {
    std::map<int, Json> messages;
    for (int v = 0; v < int(neighbours.size()); ++v) {
        if (byzantine.count(v)) continue;
        messages[v] = send(v);
        said.add(Json::object().set("phase", phase).set("round", round).set("agent", v).set("message", messages[v]));
    }
    for (int v = 0; v < int(neighbours.size()); ++v) {
        if (byzantine.count(v)) continue;
        Inbox inbox;
        for (int u : neighbours[size_t(v)]) {
            auto alone = apart.find({u, v});
            const Json* message = byzantine.count(u) ? words.find(phase, round, u, v) : alone != apart.end() ? &alone->second : &messages[u];
            if (message) inbox[u] = message;
        }
        receive(v, inbox);
    }
}

Json broadcast(const Json& in) {
    auto neighbours = neighbours_of(in.at("agents").word(), edges_of(in.at("edges")));
    int n = int(neighbours.size());
    uint64_t p = integer_of(in.at("prime")).to_uint64();
    std::set<int> byzantine = agents_of(in.at("byzantine"));
    // Erratum P22 is the choice of VB-4 that this implementation has as an option.
    Flood flood = in.at("without").items().empty() ? Flood::Fresh : Flood::Held;
    std::vector<Tag> tags;
    for (int v = 0; v < n; ++v) tags.emplace_back(v, KEY_SLOT);
    std::vector<Broadcast<uint64_t>> agents(
        neighbours.size(),
        Broadcast<uint64_t>(phase_name(Phase::Keys), n, tags, flood, [p](const Json& value) { return read_key(value, p); },
                            [](uint64_t key) { return Json(BigInt(key)); }));
    std::vector<std::vector<Alarm>> alarms(neighbours.size());
    for (const Json& item : in.at("keys").items()) {
        int v = int_of(item.items().at(0));
        agents.at(size_t(v)).give({v, KEY_SLOT}, integer_of(item.items().at(1)).to_uint64());
    }
    Words words(in);
    Json said = Json::list(), ends = Json::list();
    for (int round = 1; round <= n; ++round) {
        play_round(
            neighbours, byzantine, words, phase_name(Phase::Keys), round, said, [&](int v) { return agents[size_t(v)].send(round); },
            [&](int v, const Inbox& inbox) { agents[size_t(v)].receive(round, neighbours[size_t(v)], inbox, alarms[size_t(v)]); });
    }
    for (int v = 0; v < n; ++v) {
        if (byzantine.count(v)) continue;
        Json held = Json::list();
        for (int u = 0; u < n; ++u) {
            if (const uint64_t* key = agents[size_t(v)].held({u, KEY_SLOT})) held.add(Json::list().add(u).add(text_of(*key)));
        }
        ends.add(Json::object().set("agent", v).set("held", std::move(held)).set("alarms", alarms_json(alarms[size_t(v)])));
    }
    return Json::object().set("said", std::move(said)).set("ends", std::move(ends));
}

Json agreement(const Json& in) {
    auto neighbours = neighbours_of(in.at("agents").word(), edges_of(in.at("edges")));
    int n = int(neighbours.size());
    std::set<int> byzantine = agents_of(in.at("byzantine")), alarmed = agents_of(in.at("alarmed"));
    std::vector<Agreement> agents(neighbours.size());
    std::vector<std::vector<Alarm>> alarms(neighbours.size());
    auto has_alarm = [&](int v) { return alarmed.count(v) > 0 || !alarms[size_t(v)].empty(); };
    Words words(in);
    Json said = Json::list(), ends = Json::list();
    for (int round = 1; round < n; ++round) {  // SA-1
        play_round(
            neighbours, byzantine, words, phase_name(Phase::Agreement), round, said, [&](int v) { return Agreement::send(has_alarm(v)); },
            [&](int v, const Inbox& inbox) { agents[size_t(v)].receive(round, neighbours[size_t(v)], inbox, alarms[size_t(v)]); });
    }
    for (int v = 0; v < n; ++v) {
        if (byzantine.count(v)) continue;
        ends.add(Json::object().set("agent", v).set("alarmed", has_alarm(v)).set("alarms", alarms_json(alarms[size_t(v)])));
    }
    return Json::object().set("said", std::move(said)).set("ends", std::move(ends));
}

// A whole run; `agent_of` makes an honest agent.
template <class AgentOf>
Json play_run(const Json& in, AgentOf agent_of) {
    Parameters parameters = Parameters::read(in.at("parameters"));
    std::set<int> byzantine = agents_of(in.at("byzantine"));
    std::map<int, std::unique_ptr<Agent>> agents;
    for (int v = 0; v < parameters.agents(); ++v) {
        if (!byzantine.count(v)) agents[v] = agent_of(v);
    }
    Words words(in);
    Json said = Json::list(), addressed = Json::list(), ends = Json::list();
    const Agent& first = *agents.begin()->second;
    for (int round = 1; round <= first.last_round(); ++round) {
        auto [phase, number] = first.place(round);
        Apart apart;
        for (auto& [v, agent] : agents) {
            if (phase == Phase::Learning) break;
            for (auto& [u, message] : agent->addressed(round)) {
                addressed.add(Json::object().set("phase", phase_name(phase)).set("round", number).set("sender", v).set("receivers", Json::list().add(u)).set("message", message));
                apart[{v, u}] = std::move(message);
            }
        }
        auto send = [&, phase = phase](int v) {
            if (phase != Phase::Learning) return agents.at(v)->send(round);
            const Json& gradient = in.at("gradients").items().at(size_t(round) - 1).items().at(size_t(v));
            std::optional<Vector> lattice;
            if (!gradient.is(Json::Null)) lattice = words_of(gradient);
            return agents.at(v)->send_learning(round, lattice);
        };
        play_round(parameters.neighbours, byzantine, words, phase_name(phase), number, said, send,
                   [&](int v, const Inbox& inbox) { agents.at(v)->receive(round, inbox); }, apart);
    }
    for (const auto& [v, agent] : agents) {
        ends.add(Json::object()
                     .set("agent", v)
                     .set("valid", agent->valid())
                     .set("model", agent->valid() ? texts_json(agent->model()) : Json())
                     .set("alarms", alarms_json(agent->alarms())));
    }
    Json out = Json::object().set("said", std::move(said));
    if (in.find("openings")) out.set("addressed", std::move(addressed));
    return out.set("ends", std::move(ends));
}

Json run(const Json& in) {
    return play_run(in, [&](int v) {
        Parameters parameters = Parameters::read(in.at("parameters"));
        uint64_t key = check_key(BigInt(parameters.p), integer_of(in.at("keys").items().at(size_t(v))));
        return std::make_unique<Agent>(std::move(parameters), v, key, Flood::Fresh);
    });
}

// -------------------------------------------------------------------------------------------------- lean validation

Json lean_run(const Json& in) {
    return play_run(in, [&](int v) {
        Value opening = integers_of(in.at("openings").items().at(size_t(v)));
        return std::make_unique<LeanAgent>(LeanParameters::read(in.at("parameters")), v, opening);
    });
}

std::string name_of(const Json& run) {
    std::string bytes;
    for (size_t i = 0; i + 1 < run.text().size(); i += 2) bytes.push_back(char(std::stoi(run.text().substr(i, 2), nullptr, 16)));
    return bytes;
}

Json routes(const Json& in) {  // LE-2, LE-8
    Routes routes(neighbours_of(in.at("agents").word(), edges_of(in.at("edges"))));
    Json parents = Json::list(), sizes = Json::list(), up = Json::list(), down = Json::list();
    for (int v = 0; v < int(routes.parent.size()); ++v) {
        int parent = routes.parent[size_t(v)];
        parents.add(parent < 0 ? Json() : Json(parent));
        sizes.add(routes.sizes[size_t(v)]);
        if (v == routes.root) continue;
        up.add(routes.up(v));
        down.add(routes.down(v));
    }
    return Json::object()
        .set("diameter", routes.diameter)
        .set("root", routes.root)
        .set("height", routes.height)
        .set("parents", std::move(parents))
        .set("sizes", std::move(sizes))
        .set("up", std::move(up))
        .set("down", std::move(down));
}

Json commitment(const Json& in) {  // LE-9
    Value opening = {integer_of(in.at("nonce"))};
    for (const BigInt& share : integers_of(in.at("shares"))) opening.push_back(share);
    return Json::object().set("commitment", commitment_of(name_of(in.at("run")), int_of(in.at("agent")), opening).text());
}

// Values by agent; nothing where there is none.
std::vector<std::optional<Value>> values_of(const Json& list) {
    std::vector<std::optional<Value>> values;
    for (const Json& item : list.items()) values.push_back(item.is(Json::Null) ? std::nullopt : std::optional<Value>(integers_of(item)));
    return values;
}

Json digest(const Json& in) {  // LE-13
    std::map<int, std::vector<std::optional<Value>>> held = {
        {FIXED_SLOT, values_of(in.at("fixed"))}, {OPENING_SLOT, values_of(in.at("openings"))}, {REPORT_SLOT, values_of(in.at("reports"))}};
    auto value = [&](int v, int slot) -> const Value* {
        const std::optional<Value>& found = held.at(slot).at(size_t(v));
        return found ? &*found : nullptr;
    };
    BigInt found = digest_of(name_of(in.at("run")), int(held.at(FIXED_SLOT).size()), value);
    return Json::object().set("digest", found.text());
}

Json keys_in_common(const Json& in) {  // LE-10
    std::vector<std::optional<Value>> openings = values_of(in.at("openings"));
    std::vector<const Value*> held;
    size_t kappa = 0;
    for (const auto& opening : openings) {
        held.push_back(opening ? &*opening : nullptr);
        if (opening) kappa = opening->size() - 1;
    }
    return Json::object().set("keys", texts_json(common_keys(integer_of(in.at("prime")).to_uint64(), kappa, held)));
}

Json words_of_an_agent(const Json& in) {  // LE-7, LE-11
    LeanParameters parameters = LeanParameters::read(in.at("parameters"));
    OwnWords words = own_words(parameters.common, hashes_of(in.at("keys")), transcript_of(in.at("transcript")));
    return Json::object()
        .set("numbers", texts_json(words.numbers))
        .set("estimate", texts_json(words.estimate))
        .set("report", texts_json(words.report));
}

Json lean_parameters(const Json& in) {  // LE-1, LE-3, LE-5
    LeanParameters parameters = LeanParameters::read(in.at("parameters"));
    Value limits;
    for (int slot : {FIXED_SLOT, OPENING_SLOT, REPORT_SLOT}) {
        for (const BigInt& limit : parameters.limits(slot)) limits.push_back(limit);
    }
    return Json::object().set("rounds", parameters.all_rounds()).set("limits", texts_json(limits));
}

// --------------------------------------------------------------------------------------------------------- the harness

using Operation = Json (*)(const Json&);

using Operations = std::map<std::pair<std::string, std::string>, Operation>;  // by family and name

const Operations& all_operations() {
    static const Operations operations = {
        {{"graph", "graph"}, graph},
        {{"graph", "assumptions"}, assumptions},
        {{"parameters", "parameters"}, public_parameters},
        {{"lattice", "step-size"}, step_size},
        {{"lattice", "limits"}, limits},
        {{"lattice", "range-rule"}, range_rule},
        {{"lattice", "to-lattice"}, lattice_point},
        {{"lattice", "point"}, point},
        {{"lattice", "shift"}, shift},
        {{"lattice", "mix"}, mixing},
        {{"lattice", "update"}, updating},
        {{"lattice", "residual"}, residual},
        {{"lattice", "read-gradient"}, reading_gradient},
        {{"lattice", "squared-norm"}, norm},
        {{"lattice", "in-range"}, range},
        {{"hash", "field"}, field},
        {{"hash", "length"}, length},
        {{"hash", "key"}, key},
        {{"hash", "hash"}, hash},
        {{"hash", "colliding-keys"}, colliding_keys},
        {{"hash", "collision-bound"}, collision_bound},
        {{"transcript-hashes", "round-polynomials"}, round_polynomials},
        {{"transcript-hashes", "four-hashes"}, hashes_of_transcript},
        {{"broadcast", "keys"}, broadcast},
        {{"agreement", "states"}, agreement},
        {{"local-checks", "key-form"}, key_form},
        {{"local-checks", "report-form"}, report_form},
        {{"local-checks", "norms"}, norms},
        {{"local-checks", "report"}, report},
        {{"local-checks", "hashes"}, hash_checks},
        {{"global-checks", "exponential-weights"}, exponential_weights},
        {{"global-checks", "polynomial-weights"}, polynomial_weights},
        {{"global-checks", "thresholds"}, thresholds},
        {{"global-checks", "estimate"}, estimate},
        {{"global-checks", "estimate-form"}, estimate_form},
        {{"global-checks", "estimates"}, estimate_checks},
        {{"bounds", "root"}, root},
        {{"bounds", "derive"}, derive},
        {{"bounds", "configure"}, configure},
        {{"bounds", "conflicts"}, conflicts},
        {{"admissible", "heterogeneity"}, heterogeneity},
        {{"admissible", "phi"}, phi},
        {{"admissible", "member"}, member},
        {{"admissible", "ellipsoid"}, ellipsoid},
        {{"admissible", "distance"}, distance},
        {{"runs-honest", "run"}, run},
        {{"runs-attacks", "run"}, run},
        {{"runs-errata", "run"}, run},
        {{"lean", "routes"}, routes},
        {{"lean", "commitment"}, commitment},
        {{"lean", "digest"}, digest},
        {{"lean", "common-keys"}, keys_in_common},
        {{"lean", "own-words"}, words_of_an_agent},
        {{"lean", "lean-parameters"}, lean_parameters},
        {{"runs-lean", "lean-run"}, lean_run},
    };
    return operations;
}

bool knows_family(const std::string& family) {
    auto found = all_operations().lower_bound({family, ""});
    return found != all_operations().end() && found->first.first == family;
}

std::string shortened(const std::string& text) { return text.size() <= 200 ? text : text.substr(0, 200) + "..."; }

// Nothing if the two agree; else the first place where they differ, with what is expected and what was found.
std::optional<std::string> difference(const Json& expected, const Json& found, const std::string& place) {
    std::string here = place.empty() ? "" : place + ": ";
    std::string both = here + "expected " + shortened(expected.dump()) + ", found " + shortened(found.dump());
    if (found.is(Json::Real) && expected.is(Json::Text)) {  // admissible.json: within 2^-40 (1 + |value|)
        double wanted = to_double(rational_of(expected));
        if (std::fabs(wanted - found.real()) <= std::ldexp(1 + std::fabs(wanted), -40)) return std::nullopt;
        return both;
    }
    if (expected.is(Json::List) && found.is(Json::List)) {
        size_t common = std::min(expected.items().size(), found.items().size());
        for (size_t i = 0; i < common; ++i) {
            auto inner = difference(expected.items()[i], found.items()[i], place + "[" + std::to_string(i) + "]");
            if (inner) return inner;
        }
        if (expected.items().size() == found.items().size()) return std::nullopt;
        return here + "expected " + std::to_string(expected.items().size()) + " items, found " + std::to_string(found.items().size());
    }
    if (expected.is(Json::Object) && found.is(Json::Object)) {
        for (const auto& [name, value] : expected.members()) {
            const Json* other = found.find(name);
            if (!other) return both;
            auto inner = difference(value, *other, place.empty() ? name : place + "." + name);
            if (inner) return inner;
        }
        return expected.members().size() == found.members().size() ? std::nullopt : std::optional(both);
    }
    return expected == found ? std::nullopt : std::optional(both);
}

// The errata whose repairs a case turns off.
std::vector<std::string> switches_of(const Json& in) {
    const Json* without = in.find("without");
    const Json* parameters = in.find("parameters");
    if (!without && parameters) without = parameters->find("without");
    std::vector<std::string> out;
    if (without) {
        for (const Json& item : without->items()) out.push_back(item.text());
    }
    return out;
}

struct Tally {
    int passed = 0;
    std::vector<std::pair<std::string, std::string>> failed, skipped;  // id and what is to be said
    std::map<std::string, std::vector<std::string>> unknown;           // skipped too: ids by family or operation
};

void run_case(const std::string& family, const Json& item, Tally& tally) {
    const std::string& id = item.at("id").text();
    const std::string& name = item.at("operation").text();
    auto operation = all_operations().find({family, name});
    if (operation == all_operations().end()) {
        tally.unknown[knows_family(family) ? "operation " + family + "/" + name : "family " + family].push_back(id);
        return;
    }
    const Json& in = item.at("input");
    std::vector<std::string> without = switches_of(in);
    bool resend = family == "broadcast" && without == std::vector<std::string>{"P22"};
    if (!without.empty() && !resend) {
        std::string names;
        for (const std::string& erratum : without) names += (names.empty() ? "" : ", ") + erratum;
        tally.skipped.emplace_back(id, "shows the text as printed (" + names + "); there are no such switches here");
        return;
    }
    const Json* refused = item.find("refused");
    std::optional<std::string> fault;
    try {
        Json found = operation->second(in);
        if (refused) fault = "expected a refusal by " + refused->text() + ", found " + shortened(found.dump());
        else fault = difference(wire_expected(item.at("expected"), in.find("tables")), found, "");
    } catch (const Refused& refusal) {
        if (!refused) fault = std::string("expected a result, found a refusal: ") + refusal.what();
        else if (refused->text() != refusal.clause) fault = "expected a refusal by " + refused->text() + ", found " + refusal.what();
    } catch (const std::exception& error) {
        throw HarnessError(id + ": " + error.what());
    }
    if (fault) tally.failed.emplace_back(id, *fault);
    else ++tally.passed;
}

Json read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw HarnessError("cannot be read: " + path.string());
    std::ostringstream text;
    text << file.rdbuf();
    try {
        return Json::parse(text.str());
    } catch (const std::exception& error) {
        throw HarnessError(path.string() + ": " + error.what());
    }
}

Json ids_json(const std::vector<std::pair<std::string, std::string>>& cases) {
    Json list = Json::list();
    for (const auto& [id, reason] : cases) list.add(id);
    return list;
}

int run_directory(const std::string& directory, bool json) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::string name = entry.path().filename().string();
        bool schema = name.size() > 12 && name.compare(name.size() - 12, 12, ".schema.json") == 0;
        if (entry.path().extension() == ".json" && !schema) files.push_back(entry.path());
    }
    if (files.empty()) throw HarnessError("no vectors in " + directory);
    std::sort(files.begin(), files.end());
    Tally tally;
    for (const auto& path : files) {
        Json document = read_file(path);
        const Json* format = document.find("format");
        if (!format || !(*format == Json("valid-ref/vectors/2"))) throw HarnessError("another format: " + path.string());
        for (const Json& item : document.at("cases").items()) run_case(document.at("family").text(), item, tally);
    }
    if (json) {
        Json out = Json::object().set("passed", tally.passed), failed = ids_json(tally.failed);
        Json skipped = ids_json(tally.skipped);
        for (const auto& [what, ids] : tally.unknown) {
            for (const std::string& id : ids) skipped.add(id);
        }
        out.set("failed", std::move(failed)).set("skipped", std::move(skipped));
        std::cout << out.dump() << '\n';
    } else {
        size_t unknown = 0;
        for (const auto& [id, fault] : tally.failed) std::cout << "failed " << id << ": " << fault << '\n';
        for (const auto& [what, ids] : tally.unknown) {
            std::cout << "not run " << what << ": not known here, " << ids.size() << " cases\n";
            unknown += ids.size();
        }
        for (const auto& [id, reason] : tally.skipped) std::cout << "skipped " << id << ": " << reason << '\n';
        std::cout << tally.passed << " passed, " << tally.failed.size() << " failed, " << tally.skipped.size() + unknown << " skipped\n";
    }
    return tally.failed.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
    std::string directory = "spec/vectors";
    bool json = false;
    for (int i = 1; i < count; ++i) {
        std::string argument = arguments[i];
        if (argument == "--json") {
            json = true;
        } else if (argument.compare(0, 1, "-") == 0) {
            std::cerr << "usage: vectors [DIR] [--json]\n";
            return 2;
        } else {
            directory = argument;
        }
    }
    try {
        return run_directory(directory, json);
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << '\n';
        return 2;
    }
}
