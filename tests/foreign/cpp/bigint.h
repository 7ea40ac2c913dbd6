// Exact integers of any size, and rationals made of them.
//
// A value that fits in 64 bits is kept in one word; only larger ones have limbs. So the common case costs no memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using int128 = __int128;
using uint128 = unsigned __int128;

class BigInt {
  public:
    BigInt() = default;
    BigInt(int value) : small_(value) {}
    BigInt(int64_t value) : small_(value) {}
    BigInt(uint64_t value) { *this = from_magnitude(false, limbs_of(value)); }
    BigInt(int128 value) {
        bool negative = value < 0;
        *this = from_magnitude(negative, limbs_of(negative ? -uint128(value) : uint128(value)));
    }
    BigInt(uint128 value) { *this = from_magnitude(false, limbs_of(value)); }

    // Decimal digits with an optional minus sign; anything else is an error.
    static BigInt parse(const std::string& text) {
        size_t begin = !text.empty() && text[0] == '-' ? 1 : 0;
        if (begin == text.size()) throw std::invalid_argument("no digits in an integer");
        Limbs magnitude;
        for (size_t i = begin; i < text.size();) {
            uint32_t chunk = 0, scale = 1;
            for (int j = 0; j < 9 && i < text.size(); ++j, ++i) {
                if (text[i] < '0' || text[i] > '9') throw std::invalid_argument("not an integer: " + text.substr(0, 40));
                chunk = chunk * 10 + uint32_t(text[i] - '0');
                scale *= 10;
            }
            uint64_t carry = chunk;
            for (uint32_t& limb : magnitude) {
                carry += uint64_t(limb) * scale;
                limb = uint32_t(carry);
                carry >>= 32;
            }
            if (carry) magnitude.push_back(uint32_t(carry));
        }
        return from_magnitude(begin == 1, std::move(magnitude));
    }

    static BigInt power_of_two(unsigned bits) {
        Limbs limbs(bits / 32 + 1, 0);
        limbs.back() = uint32_t(1) << (bits % 32);
        return from_magnitude(false, std::move(limbs));
    }

    std::string text() const {
        if (limbs_.empty()) return std::to_string(small_);
        Limbs rest = limbs_;
        std::vector<uint32_t> chunks;
        while (!rest.empty()) {
            uint64_t remainder = 0;
            for (size_t i = rest.size(); i-- > 0;) {
                remainder = remainder << 32 | rest[i];
                rest[i] = uint32_t(remainder / 1000000000);
                remainder %= 1000000000;
            }
            chunks.push_back(uint32_t(remainder));
            trim(rest);
        }
        std::string out = negative_ ? "-" : "";
        out += std::to_string(chunks.back());
        for (size_t i = chunks.size() - 1; i-- > 0;) {
            std::string digits = std::to_string(chunks[i]);
            out += std::string(9 - digits.size(), '0') + digits;
        }
        return out;
    }

    bool negative() const { return limbs_.empty() ? small_ < 0 : negative_; }
    bool zero() const { return limbs_.empty() && small_ == 0; }
    bool fits_int64() const { return limbs_.empty(); }
    bool fits_uint64() const { return limbs_.empty() ? small_ >= 0 : !negative_ && limbs_.size() <= 2; }

    int64_t to_int64() const {
        if (!fits_int64()) throw std::out_of_range("more than 64 bits: " + text().substr(0, 40));
        return small_;
    }
    uint64_t to_uint64() const {
        if (!fits_uint64()) throw std::out_of_range("not in 0..2^64-1: " + text().substr(0, 40));
        return limbs_.empty() ? uint64_t(small_) : uint64_t(limbs_[1]) << 32 | limbs_[0];
    }
    double to_double() const {
        if (limbs_.empty()) return double(small_);
        double value = 0;
        for (size_t i = limbs_.size(); i-- > 0;) value = value * 4294967296.0 + limbs_[i];
        return negative_ ? -value : value;
    }
    unsigned bits() const {
        Limbs limbs = magnitude();
        if (limbs.empty()) return 0;
        unsigned top = 0;
        while (top < 32 && limbs.back() >> top) ++top;
        return unsigned(limbs.size() - 1) * 32 + top;
    }

    BigInt operator-() const {
        if (limbs_.empty() && small_ != INT64_MIN) return BigInt(-small_);
        return from_magnitude(!negative(), magnitude());
    }
    BigInt absolute() const { return negative() ? -*this : *this; }

    friend BigInt operator+(const BigInt& a, const BigInt& b) {
        int64_t sum;
        if (a.limbs_.empty() && b.limbs_.empty() && !__builtin_add_overflow(a.small_, b.small_, &sum)) return BigInt(sum);
        Limbs x = a.magnitude(), y = b.magnitude();
        if (a.negative() == b.negative()) return from_magnitude(a.negative(), add(x, y));
        if (compare_limbs(x, y) >= 0) return from_magnitude(a.negative(), subtract(x, y));
        return from_magnitude(b.negative(), subtract(y, x));
    }
    friend BigInt operator-(const BigInt& a, const BigInt& b) {
        int64_t difference;
        if (a.limbs_.empty() && b.limbs_.empty() && !__builtin_sub_overflow(a.small_, b.small_, &difference)) {
            return BigInt(difference);
        }
        return a + -b;
    }
    friend BigInt operator*(const BigInt& a, const BigInt& b) {
        if (a.limbs_.empty() && b.limbs_.empty()) {
            int64_t product;
            if (!__builtin_mul_overflow(a.small_, b.small_, &product)) return BigInt(product);
            return BigInt(int128(a.small_) * b.small_);
        }
        Limbs x = a.magnitude(), y = b.magnitude();
        if (x.empty() || y.empty()) return BigInt();
        Limbs product(x.size() + y.size(), 0);
        for (size_t i = 0; i < x.size(); ++i) {
            uint64_t carry = 0;
            for (size_t j = 0; j < y.size(); ++j) {
                carry += uint64_t(x[i]) * y[j] + product[i + j];
                product[i + j] = uint32_t(carry);
                carry >>= 32;
            }
            product[i + y.size()] = uint32_t(carry);
        }
        return from_magnitude(a.negative() != b.negative(), std::move(product));
    }
    BigInt& operator+=(const BigInt& other) { return *this = *this + other; }

    // Quotient towards minus infinity, and the remainder that goes with it.
    static std::pair<BigInt, BigInt> divide(const BigInt& a, const BigInt& b) {
        if (b.zero()) throw std::domain_error("division by zero");
        auto [quotient, remainder] = divide_magnitudes(a.magnitude(), b.magnitude());
        BigInt q = from_magnitude(a.negative() != b.negative(), std::move(quotient));
        BigInt r = from_magnitude(a.negative(), std::move(remainder));
        if (!r.zero() && a.negative() != b.negative()) {
            q = q - BigInt(1);
            r = r + b;
        }
        return {q, r};
    }
    friend BigInt floor_divide(const BigInt& a, const BigInt& b) { return divide(a, b).first; }
    friend BigInt modulo(const BigInt& a, const BigInt& b) { return divide(a, b).second; }

    friend int compare(const BigInt& a, const BigInt& b) {
        if (a.limbs_.empty() && b.limbs_.empty()) return (a.small_ > b.small_) - (a.small_ < b.small_);
        if (a.negative() != b.negative()) return a.negative() ? -1 : 1;
        int order = compare_limbs(a.magnitude(), b.magnitude());
        return a.negative() ? -order : order;
    }
    friend bool operator==(const BigInt& a, const BigInt& b) {
        return a.small_ == b.small_ && a.negative_ == b.negative_ && a.limbs_ == b.limbs_;
    }
    friend bool operator!=(const BigInt& a, const BigInt& b) { return !(a == b); }
    friend bool operator<(const BigInt& a, const BigInt& b) { return compare(a, b) < 0; }
    friend bool operator>(const BigInt& a, const BigInt& b) { return compare(a, b) > 0; }
    friend bool operator<=(const BigInt& a, const BigInt& b) { return compare(a, b) <= 0; }
    friend bool operator>=(const BigInt& a, const BigInt& b) { return compare(a, b) >= 0; }

  private:
    using Limbs = std::vector<uint32_t>;  // lowest first, no zero on top

    int64_t small_ = 0;      // the value, if there are no limbs
    bool negative_ = false;  // the sign of the limbs
    Limbs limbs_;            // the magnitude of a value that does not fit in 64 bits

    static void trim(Limbs& limbs) {
        while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
    }
    static Limbs limbs_of(uint128 value) {
        Limbs limbs;
        for (; value; value >>= 32) limbs.push_back(uint32_t(value));
        return limbs;
    }
    Limbs magnitude() const {
        if (!limbs_.empty()) return limbs_;
        return limbs_of(small_ < 0 ? -uint128(small_) : uint128(small_));
    }
    static BigInt from_magnitude(bool negative, Limbs limbs) {
        trim(limbs);
        BigInt value;
        if (limbs.size() <= 2) {
            uint64_t word = 0;
            for (size_t i = limbs.size(); i-- > 0;) word = word << 32 | limbs[i];
            const uint64_t least = uint64_t(1) << 63;
            if (word < least || (negative && word == least)) {
                value.small_ = negative ? int64_t(~word + 1) : int64_t(word);
                return value;
            }
        }
        value.negative_ = negative;
        value.limbs_ = std::move(limbs);
        return value;
    }
    static int compare_limbs(const Limbs& a, const Limbs& b) {
        if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
        for (size_t i = a.size(); i-- > 0;) {
            if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
        }
        return 0;
    }
    static Limbs add(const Limbs& a, const Limbs& b) {
        Limbs sum;
        uint64_t carry = 0;
        for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            carry += (i < a.size() ? a[i] : 0);
            carry += (i < b.size() ? b[i] : 0);
            sum.push_back(uint32_t(carry));
            carry >>= 32;
        }
        if (carry) sum.push_back(uint32_t(carry));
        return sum;
    }
    static Limbs subtract(const Limbs& a, const Limbs& b) {  // a >= b
        Limbs difference = a;
        int64_t borrow = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            int64_t digit = int64_t(a[i]) - (i < b.size() ? b[i] : 0) - borrow;
            borrow = digit < 0;
            difference[i] = uint32_t(digit);
        }
        trim(difference);
        return difference;
    }
    // Long division of magnitudes (Knuth's algorithm D).
    static std::pair<Limbs, Limbs> divide_magnitudes(const Limbs& a, const Limbs& b) {
        if (compare_limbs(a, b) < 0) return {Limbs(), a};
        if (b.size() == 1) {
            Limbs quotient(a.size());
            uint64_t remainder = 0;
            for (size_t i = a.size(); i-- > 0;) {
                remainder = remainder << 32 | a[i];
                quotient[i] = uint32_t(remainder / b[0]);
                remainder %= b[0];
            }
            trim(quotient);
            return {quotient, limbs_of(remainder)};
        }
        int shift = __builtin_clz(b.back());
        Limbs u = shifted_left(a, shift), v = shifted_left(b, shift);
        u.resize(a.size() + 1, 0);
        v.resize(b.size());
        size_t n = v.size();
        Limbs quotient(a.size() - n + 1, 0);
        for (size_t j = quotient.size(); j-- > 0;) {
            uint64_t top = uint64_t(u[j + n]) << 32 | u[j + n - 1];
            uint64_t guess = top / v[n - 1], rest = top % v[n - 1];
            while (guess >> 32 || guess * v[n - 2] > (rest << 32 | u[j + n - 2])) {
                --guess;
                rest += v[n - 1];
                if (rest >> 32) break;
            }
            int64_t borrow = 0;
            uint64_t carry = 0;
            for (size_t i = 0; i < n; ++i) {
                carry += guess * v[i];
                int64_t digit = int64_t(u[i + j]) - int64_t(carry & 0xffffffff) - borrow;
                u[i + j] = uint32_t(digit);
                borrow = digit < 0;
                carry >>= 32;
            }
            int64_t digit = int64_t(u[j + n]) - int64_t(carry) - borrow;
            u[j + n] = uint32_t(digit);
            if (digit < 0) {  // the guess was one too large
                --guess;
                uint64_t again = 0;
                for (size_t i = 0; i < n; ++i) {
                    again += uint64_t(u[i + j]) + v[i];
                    u[i + j] = uint32_t(again);
                    again >>= 32;
                }
                u[j + n] = uint32_t(u[j + n] + again);
            }
            quotient[j] = uint32_t(guess);
        }
        trim(quotient);
        u.resize(n);
        for (size_t i = 0; i < n; ++i) {
            uint64_t pair = uint64_t(i + 1 < n ? u[i + 1] : 0) << 32 | u[i];
            u[i] = uint32_t(pair >> shift);
        }
        trim(u);
        return {quotient, u};
    }
    static Limbs shifted_left(const Limbs& limbs, int shift) {  // 0 <= shift < 32
        Limbs out;
        uint64_t carry = 0;
        for (uint32_t limb : limbs) {
            carry |= uint64_t(limb) << shift;
            out.push_back(uint32_t(carry));
            carry >>= 32;
        }
        if (carry) out.push_back(uint32_t(carry));
        return out;
    }
};

// The integer square root, rounded down.
inline BigInt integer_root(const BigInt& value) {
    if (value.negative()) throw std::domain_error("root of a negative number");
    if (value.fits_int64()) {
        uint64_t square = uint64_t(value.to_int64());
        uint64_t root = uint64_t(std::sqrt(static_cast<long double>(square)));
        while (root * root > square) --root;
        while ((root + 1) * (root + 1) <= square) ++root;
        return BigInt(root);
    }
    BigInt root = BigInt::power_of_two((value.bits() + 1) / 2);
    for (;;) {
        BigInt next = floor_divide(root + floor_divide(value, root), BigInt(2));
        if (next >= root) return root;
        root = next;
    }
}

inline BigInt greatest_common_divisor(BigInt a, BigInt b) {
    a = a.absolute();
    b = b.absolute();
    while (!b.zero()) {
        BigInt rest = modulo(a, b);
        a = b;
        b = rest;
    }
    return a;
}

inline BigInt power(const BigInt& base, unsigned exponent) {
    BigInt result(1);
    for (unsigned i = 0; i < exponent; ++i) result = result * base;
    return result;
}

// A rational in lowest terms with a positive denominator.
class Rational {
  public:
    Rational(int value) : numerator_(value), denominator_(1) {}
    Rational(const BigInt& value) : numerator_(value), denominator_(1) {}
    Rational(const BigInt& numerator, const BigInt& denominator) {
        if (denominator.zero()) throw std::domain_error("a denominator is 0");
        BigInt divisor = greatest_common_divisor(numerator, denominator);
        if (denominator.negative()) divisor = -divisor;
        numerator_ = floor_divide(numerator, divisor);
        denominator_ = floor_divide(denominator, divisor);
    }
    static Rational parse(const std::string& text) {
        size_t slash = text.find('/');
        if (slash == std::string::npos) return Rational(BigInt::parse(text));
        return Rational(BigInt::parse(text.substr(0, slash)), BigInt::parse(text.substr(slash + 1)));
    }
    std::string text() const { return numerator_.text() + "/" + denominator_.text(); }
    const BigInt& numerator() const { return numerator_; }
    const BigInt& denominator() const { return denominator_; }
    bool negative() const { return numerator_.negative(); }
    bool zero() const { return numerator_.zero(); }
    Rational absolute() const { return negative() ? Rational(0) - *this : *this; }

    friend Rational operator+(const Rational& a, const Rational& b) {
        return Rational(a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_, a.denominator_ * b.denominator_);
    }
    friend Rational operator-(const Rational& a, const Rational& b) {
        return Rational(a.numerator_ * b.denominator_ - b.numerator_ * a.denominator_, a.denominator_ * b.denominator_);
    }
    friend Rational operator*(const Rational& a, const Rational& b) {
        return Rational(a.numerator_ * b.numerator_, a.denominator_ * b.denominator_);
    }
    friend Rational operator/(const Rational& a, const Rational& b) {
        return Rational(a.numerator_ * b.denominator_, a.denominator_ * b.numerator_);
    }
    friend int compare(const Rational& a, const Rational& b) {
        return compare(a.numerator_ * b.denominator_, b.numerator_ * a.denominator_);
    }
    friend bool operator==(const Rational& a, const Rational& b) { return compare(a, b) == 0; }
    friend bool operator<(const Rational& a, const Rational& b) { return compare(a, b) < 0; }
    friend bool operator>(const Rational& a, const Rational& b) { return compare(a, b) > 0; }
    friend bool operator<=(const Rational& a, const Rational& b) { return compare(a, b) <= 0; }

    BigInt floor() const { return floor_divide(numerator_, denominator_); }
    BigInt ceiling() const { return -floor_divide(-numerator_, denominator_); }
    // The nearest integer, ties to even.
    BigInt nearest() const {
        auto [whole, rest] = BigInt::divide(numerator_, denominator_);
        int side = compare(rest + rest, denominator_);
        bool odd = !modulo(whole, BigInt(2)).zero();
        return side > 0 || (side == 0 && odd) ? whole + BigInt(1) : whole;
    }

  private:
    BigInt numerator_, denominator_;
};
