// JSON: a reader that keeps integers of any size exactly, and a writer.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bigint.h"

class Json {
  public:
    enum Kind { Null, Boolean, Integer, Real, Text, List, Object };
    using Members = std::vector<std::pair<std::string, Json>>;

    Json() = default;
    Json(bool value) : kind_(Boolean), word_(value) {}
    Json(int value) : kind_(Integer), word_(value) {}
    Json(int64_t value) : kind_(Integer), word_(value) {}
    Json(const BigInt& value) : kind_(Integer) {
        if (value.fits_int64()) word_ = value.to_int64();
        else text_ = value.text();
    }
    Json(double value) : kind_(Real), real_(value) {}
    Json(std::string value) : kind_(Text), text_(std::move(value)) {}
    Json(const char* value) : kind_(Text), text_(value) {}
    static Json list() { return of_kind(List); }
    static Json object() { return of_kind(Object); }

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }

    bool boolean() const { return demand(Boolean, "a boolean"), word_ != 0; }
    const std::string& text() const { return demand(Text, "a text"), text_; }
    const std::vector<Json>& items() const { return demand(List, "a list"), items_; }
    const Members& members() const { return demand(Object, "an object"), members_; }

    // Integers: in one word if they fit, else as digits, so that long ones cost nothing until they are looked at.
    bool fits_word() const { return demand(Integer, "an integer"), text_.empty(); }
    int64_t word() const {
        if (!fits_word()) throw std::runtime_error("an integer does not fit in 64 bits");
        return word_;
    }
    size_t digits() const { return fits_word() ? std::to_string(word_).size() : text_.size(); }
    BigInt integer() const { return fits_word() ? BigInt(word_) : BigInt::parse(text_); }
    double real() const {
        if (kind_ == Integer) return text_.empty() ? double(word_) : std::strtod(text_.c_str(), nullptr);
        return demand(Real, "a number"), real_;
    }

    const Json* find(const std::string& name) const {
        if (kind_ != Object) return nullptr;
        for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
            if (member->first == name) return &member->second;
        }
        return nullptr;
    }
    const Json& at(const std::string& name) const {
        const Json* value = find(name);
        if (!value) throw std::runtime_error("a field is missing: " + name);
        return *value;
    }
    Json& add(Json item) {
        items_.push_back(std::move(item));
        return *this;
    }
    Json& set(std::string name, Json value) {
        members_.emplace_back(std::move(name), std::move(value));
        return *this;
    }

    friend bool operator==(const Json& a, const Json& b) {
        if (a.kind_ != b.kind_) return false;
        if (a.kind_ == Real) return a.real_ == b.real_;
        if (a.kind_ != Object) return a.word_ == b.word_ && a.text_ == b.text_ && a.items_ == b.items_;
        if (a.members_.size() != b.members_.size()) return false;
        for (const auto& [name, value] : a.members_) {
            const Json* other = b.find(name);
            if (!other || !(value == *other)) return false;
        }
        return true;
    }

    std::string dump() const {
        std::string out;
        write(out);
        return out;
    }

    static Json parse(const std::string& text) {
        Reader reader{text, 0, 0};
        Json value = reader.value();
        reader.space();
        if (reader.place != text.size()) reader.fail("something after the end");
        return value;
    }

  private:
    Kind kind_ = Null;
    int64_t word_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<Json> items_;
    Members members_;

    static Json of_kind(Kind kind) {
        Json value;
        value.kind_ = kind;
        return value;
    }
    void demand(Kind kind, const char* name) const {
        if (kind_ != kind) throw std::runtime_error(std::string("expected ") + name + " in JSON");
    }

    void write(std::string& out) const {
        switch (kind_) {
            case Null: out += "null"; break;
            case Boolean: out += word_ ? "true" : "false"; break;
            case Integer: out += text_.empty() ? std::to_string(word_) : text_; break;
            case Real: write_real(out); break;
            case Text: write_text(out, text_); break;
            case List:
                out += '[';
                for (size_t i = 0; i < items_.size(); ++i) {
                    if (i) out += ',';
                    items_[i].write(out);
                }
                out += ']';
                break;
            case Object:
                out += '{';
                for (size_t i = 0; i < members_.size(); ++i) {
                    if (i) out += ',';
                    write_text(out, members_[i].first);
                    out += ':';
                    members_[i].second.write(out);
                }
                out += '}';
                break;
        }
    }
    // CF-3: a double that is read back the same; what is not finite is a text.
    void write_real(std::string& out) const {
        if (std::isnan(real_)) {
            out += "\"nan\"";
        } else if (std::isinf(real_)) {
            out += real_ > 0 ? "\"inf\"" : "\"-inf\"";
        } else {
            char digits[40];
            std::snprintf(digits, sizeof digits, "%.17g", real_);
            std::string text = digits;
            if (text.find_first_of(".e") == std::string::npos) text += ".0";
            out += text;
        }
    }
    // Everything beyond ASCII is escaped; what is no UTF-8 becomes U+FFFD.
    static void write_text(std::string& out, const std::string& text) {
        out += '"';
        for (size_t i = 0; i < text.size();) {
            unsigned char byte = static_cast<unsigned char>(text[i]);
            if (byte == '"' || byte == '\\') {
                out += '\\';
                out += char(byte);
                ++i;
            } else if (byte >= 0x20 && byte < 0x7f) {
                out += char(byte);
                ++i;
            } else {
                uint32_t code = decode(text, i);
                if (code >= 0x10000) {
                    write_unit(out, 0xd800 + ((code - 0x10000) >> 10));
                    write_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
                } else {
                    write_unit(out, code);
                }
            }
        }
        out += '"';
    }
    static void write_unit(std::string& out, uint32_t unit) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", unit & 0xffff);
        out += escape;
    }
    static uint32_t decode(const std::string& text, size_t& i) {
        unsigned char first = static_cast<unsigned char>(text[i++]);
        if (first < 0x80) return first;
        int more = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
        if (more == 0 || first >= 0xf8) return 0xfffd;
        uint32_t code = first & (0x3f >> more);
        for (int j = 0; j < more; ++j) {
            if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0xfffd;
            code = code << 6 | (static_cast<unsigned char>(text[i++]) & 0x3f);
        }
        return code > 0x10ffff ? 0xfffd : code;
    }

    struct Reader {
        const std::string& text;
        size_t place;
        int depth;

        [[noreturn]] void fail(const std::string& what) const {
            throw std::runtime_error("JSON, byte " + std::to_string(place) + ": " + what);
        }
        void space() {
            while (place < text.size() && (text[place] == ' ' || text[place] == '\t' || text[place] == '\n' || text[place] == '\r')) {
                ++place;
            }
        }
        char peek() const { return place < text.size() ? text[place] : '\0'; }
        bool take(char sign) {
            if (peek() != sign || place >= text.size()) return false;
            ++place;
            return true;
        }
        void expect(const char* word) {
            for (; *word; ++word) {
                if (!take(*word)) fail("an unknown word");
            }
        }
        Json value() {
            space();
            switch (peek()) {
                case 'n': expect("null"); return Json();
                case 't': expect("true"); return Json(true);
                case 'f': expect("false"); return Json(false);
                case '"': return Json(string());
                case '[': return list();
                case '{': return object();
                default: return number();
            }
        }
        Json list() {
            if (++depth > 500) fail("too deep");
            ++place;
            Json out = Json::list();
            space();
            if (!take(']')) {
                do {
                    out.add(value());
                    space();
                } while (take(','));
                if (!take(']')) fail("a list does not end");
            }
            --depth;
            return out;
        }
        Json object() {
            if (++depth > 500) fail("too deep");
            ++place;
            Json out = Json::object();
            space();
            if (!take('}')) {
                do {
                    space();
                    if (peek() != '"') fail("a name is missing");
                    std::string name = string();
                    space();
                    if (!take(':')) fail("a colon is missing");
                    out.set(std::move(name), value());
                    space();
                } while (take(','));
                if (!take('}')) fail("an object does not end");
            }
            --depth;
            return out;
        }
        bool digits() {
            size_t begin = place;
            while (peek() >= '0' && peek() <= '9') ++place;
            return place > begin;
        }
        Json number() {
            size_t begin = place;
            take('-');
            size_t first = place;
            if (!digits()) fail("no value");
            if (text[first] == '0' && place > first + 1) fail("a leading zero");
            size_t length = place - first;
            bool real = false;
            if (take('.')) {
                real = true;
                if (!digits()) fail("no digits after the point");
            }
            if (peek() == 'e' || peek() == 'E') {
                real = true;
                ++place;
                if (!take('+')) take('-');
                if (!digits()) fail("no digits in the exponent");
            }
            std::string token = text.substr(begin, place - begin);
            if (real) return Json(std::strtod(token.c_str(), nullptr));
            if (length <= 18) return Json(int64_t(std::strtoll(token.c_str(), nullptr, 10)));
            if (length <= 20) return Json(BigInt::parse(token));
            Json out = of_kind(Integer);
            out.text_ = std::move(token);
            return out;
        }
        uint32_t unit() {
            uint32_t code = 0;
            for (int i = 0; i < 4; ++i, ++place) {
                char sign = peek();
                uint32_t digit = sign >= '0' && sign <= '9'   ? uint32_t(sign - '0')
                                 : sign >= 'a' && sign <= 'f' ? uint32_t(sign - 'a' + 10)
                                 : sign >= 'A' && sign <= 'F' ? uint32_t(sign - 'A' + 10)
                                                              : 16;
                if (digit == 16) fail("four hex digits are missing");
                code = code << 4 | digit;
            }
            return code;
        }
        static void encode(std::string& out, uint32_t code) {
            if (code < 0x80) {
                out += char(code);
            } else if (code < 0x800) {
                out += char(0xc0 | code >> 6);
                out += char(0x80 | (code & 0x3f));
            } else if (code < 0x10000) {
                out += char(0xe0 | code >> 12);
                out += char(0x80 | (code >> 6 & 0x3f));
                out += char(0x80 | (code & 0x3f));
            } else {
                out += char(0xf0 | code >> 18);
                out += char(0x80 | (code >> 12 & 0x3f));
                out += char(0x80 | (code >> 6 & 0x3f));
                out += char(0x80 | (code & 0x3f));
            }
        }
        std::string string() {
            ++place;
            std::string out;
            for (;;) {
                if (place >= text.size()) fail("a text does not end");
                char sign = text[place++];
                if (sign == '"') return out;
                if (sign != '\\') {
                    out += sign;
                    continue;
                }
                char escape = peek();
                ++place;
                switch (escape) {
                    case '"': case '\\': case '/': out += escape; break;
                    case 'b': out += '\b'; break;
                    case 'f': out += '\f'; break;
                    case 'n': out += '\n'; break;
                    case 'r': out += '\r'; break;
                    case 't': out += '\t'; break;
                    case 'u': {
                        uint32_t code = unit();
                        if (code >= 0xd800 && code < 0xdc00 && text.compare(place, 2, "\\u") == 0) {
                            size_t before = place;
                            place += 2;
                            uint32_t low = unit();
                            if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                            else place = before;
                        }
                        encode(out, code);
                        break;
                    }
                    default: fail("an unknown escape");
                }
            }
        }
    };
};
