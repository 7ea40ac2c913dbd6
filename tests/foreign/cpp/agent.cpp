// An agent of VALID that speaks the conformance protocol (spec/conformance.md) on its standard input and output.
//
//     agent [--flood fresh|held]

#include <iostream>
#include <memory>
#include <string>

#include "lean.h"

namespace {

// CF-9.
Json alarm_json(const Alarm& alarm) {
    Json out = Json::object().set("reason", alarm.reason).set("phase", alarm.phase).set("round", alarm.round);
    out.set("sender", alarm.sender ? Json(*alarm.sender) : Json());
    out.set("about", alarm.about ? Json(*alarm.about) : Json());
    return out;
}

Json alarms_json(const std::vector<Alarm>& alarms, size_t begin) {
    Json list = Json::list();
    for (size_t i = begin; i < alarms.size(); ++i) list.add(alarm_json(alarms[i]));
    return list;
}

// CF-3: a float64. What is not finite is a text; no such number can be used (AR-14), so it does not matter which.
double real_of(const Json& value) {
    return value.is(Json::Real) || value.is(Json::Integer) ? value.real() : std::nan("");
}

class Session {
  public:
    explicit Session(Flood flood) : flood_(flood) {}

    Json answer(const Json& request) {
        const std::string& op = request.at("op").text();
        if (op == "hello") return hello();
        if (op == "start") return start(request);
        if (op == "mix") return mix(request);
        if (op == "send") return send(request);
        if (op == "receive") return receive(request);
        if (op == "end") return end();
        throw std::runtime_error("an unknown request: " + op);
    }

  private:
    Flood flood_;
    std::unique_ptr<Agent> agent_;
    size_t reported_ = 0;  // alarms that were in a reply

    Agent& agent() {
        if (!agent_) throw std::runtime_error("no run has been started");
        return *agent_;
    }

    int round_of(const Json& request) {
        int64_t round = request.at("round").word();
        if (round < 1 || round > agent().last_round()) throw std::runtime_error("no such round: " + std::to_string(round));
        return int(round);
    }

    Json hello() const {  // CF-2
        return Json::object()
            .set("protocol", "valid-ref/conformance/2")
            .set("name", "valid in C++17")
            .set("flood", flood_ == Flood::Held ? "held" : "fresh")
            .set("integers", "number")
            .set("validations", Json::list().add("paper").add("lean"));
    }

    Json start(const Json& request) {  // CF-4
        agent_.reset();
        reported_ = 0;
        Parameters parameters = Parameters::read(request.at("parameters"));
        int64_t self = request.at("agent").word();
        if (self < 0 || self >= parameters.agents()) throw Refused("MO-1", "no such agent: " + std::to_string(self));
        if (request.at("parameters").find("lean")) {
            LeanParameters lean = LeanParameters::read(request.at("parameters"));
            agent_ = std::make_unique<LeanAgent>(std::move(lean), int(self), integers_of(request.at("opening")));
            return Json::object();
        }
        uint64_t key = check_key(BigInt(parameters.p), integer_of(request.at("key")));
        agent_ = std::make_unique<Agent>(std::move(parameters), int(self), key, flood_);
        return Json::object();
    }

    Json mix(const Json& request) {  // CF-5
        int round = round_of(request);
        if (agent().place(round).first != Phase::Learning) throw std::runtime_error("mix outside of learning");
        Vector mixed = agent().mixed(round);
        Json point = Json::list();
        for (double coordinate : agent().point(mixed)) point.add(coordinate);
        return Json::object().set("Y", words_json(mixed)).set("point", std::move(point));
    }

    Json send(const Json& request) {  // CF-5, CF-6
        int round = round_of(request);
        if (agent().place(round).first != Phase::Learning) {
            Json reply = Json::object().set("message", agent().send(round)), addressed = Json::list();
            for (auto& [u, message] : agent().addressed(round)) {
                addressed.add(Json::object().set("receiver", u).set("message", std::move(message)));
            }
            return reply.set("addressed", std::move(addressed));
        }
        const Json* wanted = request.find("gradient");
        std::optional<Vector> gradient;
        if (wanted && wanted->is(Json::List)) {
            std::vector<double> values;
            for (const Json& value : wanted->items()) values.push_back(real_of(value));
            gradient = agent().lattice_gradient(values);
        }
        Json reply = Json::object().set("message", agent().send_learning(round, gradient));
        if (wanted) reply.set("gradient", gradient ? words_json(*gradient) : Json());
        return reply;
    }

    Json receive(const Json& request) {  // CF-8
        int round = round_of(request);
        Inbox inbox;
        for (const Json& item : request.at("inbox").items()) {
            const Json& sender = item.at("sender");
            if (sender.is(Json::Integer) && sender.fits_word() && sender.word() >= 0 && sender.word() < agent().parameters().agents()) {
                inbox[int(sender.word())] = &item.at("message");
            }
        }
        agent().receive(round, inbox);
        Json alarms = alarms_json(agent().alarms(), reported_);
        reported_ = agent().alarms().size();
        return Json::object().set("alarms", std::move(alarms));
    }

    Json end() {  // CF-10
        bool valid = agent().valid();
        return Json::object()
            .set("valid", valid)
            .set("model", valid ? words_json(agent().model()) : Json())
            .set("alarms", alarms_json(agent().alarms(), 0));
    }
};

}  // namespace

int main(int count, char** arguments) {
    Flood flood = Flood::Fresh;
    for (int i = 1; i < count; ++i) {
        std::string option = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
        if (option != "--flood" || (value != "fresh" && value != "held")) {
            std::cerr << "usage: agent [--flood fresh|held]\n";
            return 2;
        }
        flood = value == "held" ? Flood::Held : Flood::Fresh;
        ++i;
    }
    std::ios::sync_with_stdio(false);
    Session session(flood);
    std::string line;
    while (std::getline(std::cin, line)) {
        Json reply;
        try {
            reply = session.answer(Json::parse(line));
        } catch (const std::exception& error) {
            reply = Json::object().set("error", std::string(error.what()));
        }
        std::cout << reply.dump() << '\n' << std::flush;
    }
    return 0;
}
