'use strict'
// Exact numbers: JSON with integers of any size, rounding, roots, the lattice, the field, fractions.
// In data that was read, every integer is a BigInt and every real number is a Number.

/** An input that a clause demands to refuse. */
class Refusal extends Error {
  constructor (clause, text) {
    super(`${clause}: ${text}`)
    this.clause = clause
  }
}

// --- JSON (CF-1, CF-3) ---

// Lists of integers that were read before, by their text. The same list arrives from many neighbours and in many
// rounds; it is then read once, and equal lists are often the same object.
const KNOWN_LISTS_LIMIT = 50000

// No value of the protocol is nested deeper than this; what is stands for something of another form.
const DEPTH_LIMIT = 64

class JsonReader {
  constructor () {
    this.lists = new Map()
  }

  forget () {
    this.lists.clear()
  }

  read (text) {
    this.text = text
    this.at = 0
    this.depth = 0
    const value = this.value()
    this.space()
    if (this.at !== text.length) this.fail('end of text')
    return value
  }

  fail (wanted) {
    throw new SyntaxError(`JSON: ${wanted} expected at ${this.at}`)
  }

  space () {
    const text = this.text
    for (;;) {
      const c = text.charCodeAt(this.at)
      if (c === 32 || c === 10 || c === 13 || c === 9) this.at++
      else return c
    }
  }

  value () {
    const c = this.space()
    switch (c) {
      case 0x7b:
      case 0x5b: return this.nested(c)
      case 0x22: return this.string()
      case 0x74: return this.word('true', true)
      case 0x66: return this.word('false', false)
      case 0x6e: return this.word('null', null)
      default: return this.number()
    }
  }

  nested (c) {
    if (this.depth === DEPTH_LIMIT) return this.tooDeep()
    this.depth++
    const value = c === 0x7b ? this.object() : this.list()
    this.depth--
    return value
  }

  /** Passes over a list or an object without reading it: a neighbour must not exhaust the stack. */
  tooDeep () {
    let open = 0
    do {
      const c = this.text.charCodeAt(this.at)
      if (Number.isNaN(c)) this.fail('a closing bracket')
      if (c === 0x22) {
        this.string()
        continue
      }
      if (c === 0x5b || c === 0x7b) open++
      if (c === 0x5d || c === 0x7d) open--
      this.at++
    } while (open > 0)
    return { other: 'nested too deeply' }
  }

  word (word, value) {
    if (!this.text.startsWith(word, this.at)) this.fail('a value')
    this.at += word.length
    return value
  }

  number () {
    const text = this.text
    const begin = this.at
    let at = begin
    if (text.charCodeAt(at) === 45) at++
    const digits = at
    let small = 0
    let c = text.charCodeAt(at)
    while (c >= 48 && c <= 57) {
      small = small * 10 + (c - 48)
      c = text.charCodeAt(++at)
    }
    const count = at - digits
    if (count === 0 || (count > 1 && text.charCodeAt(digits) === 48)) this.fail('a number')
    if (c !== 46 && c !== 101 && c !== 69) {
      this.at = at
      if (count <= 15) return BigInt(digits > begin ? -small : small)
      return BigInt(text.slice(begin, at))
    }
    const real = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
    real.lastIndex = begin
    const found = real.exec(text)[0]
    this.at = begin + found.length
    return Number(found)
  }

  string () {
    const begin = this.at
    let at = begin + 1
    for (;;) {
      const c = this.text.charCodeAt(at)
      if (c === 34) break
      if (Number.isNaN(c)) this.fail('the end of a string')
      at += c === 92 ? 2 : 1
    }
    this.at = at + 1
    return JSON.parse(this.text.slice(begin, this.at))
  }

  list () {
    // A text up to the first "]" that is known is a whole list of integers: such a list has no other bracket.
    const begin = this.at
    const end = this.text.indexOf(']', begin)
    if (end - begin > 16) {
      const known = this.lists.get(this.text.slice(begin, end + 1))
      if (known !== undefined) {
        this.at = end + 1
        return known
      }
    }
    const items = []
    this.at++
    if (this.space() === 0x5d) {
      this.at++
      return items
    }
    let integers = true
    for (;;) {
      const item = this.value()
      if (typeof item !== 'bigint') integers = false
      items.push(item)
      const c = this.space()
      this.at++
      if (c === 0x5d) break
      if (c !== 0x2c) this.fail('a comma')
    }
    if (integers && this.at - begin > 17 && this.lists.size < KNOWN_LISTS_LIMIT) {
      this.lists.set(this.text.slice(begin, this.at), items)
    }
    return items
  }

  object () {
    const fields = Object.create(null)
    this.at++
    if (this.space() === 0x7d) {
      this.at++
      return fields
    }
    for (;;) {
      if (this.space() !== 0x22) this.fail('a name')
      const name = this.string()
      if (this.space() !== 0x3a) this.fail('a colon')
      this.at++
      fields[name] = this.value()
      const c = this.space()
      this.at++
      if (c === 0x7d) return fields
      if (c !== 0x2c) this.fail('a comma')
    }
  }
}

const writtenLists = new WeakMap()

/** The JSON text of data; integers of any size are written digit by digit (CF-3). */
function writeJson (value) {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (!Array.isArray(value)) {
    return '{' + Object.keys(value).map(name => JSON.stringify(name) + ':' + writeJson(value[name])).join(',') + '}'
  }
  if (value.length === 0 || typeof value[0] !== 'bigint') return '[' + value.map(writeJson).join(',') + ']'
  // Vectors, reports and estimates never change after they were made.
  let text = writtenLists.get(value)
  if (text === undefined) {
    text = '[' + value.map(writeJson).join(',') + ']'
    writtenLists.set(value, text)
  }
  return text
}

// --- Integers ---

const magnitude = value => value < 0n ? -value : value

/** The residue in 0..p-1. */
function residue (value, p) {
  const rest = value % p
  return rest < 0n ? rest + p : rest
}

/** Division towards minus infinity, for a positive divisor (AR-8). */
function floorDivide (value, divisor) {
  const quotient = value / divisor
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient
}

/** value / divisor, the nearest integer, ties to even; the divisor is positive. */
function roundDivide (value, divisor) {
  const down = floorDivide(value, divisor)
  const twice = 2n * (value - down * divisor)
  if (twice > divisor || (twice === divisor && (down & 1n) === 1n)) return down + 1n
  return down
}

/** value / 2^bits, the nearest integer, ties to even (AR-5). */
function roundShift (value, bits) {
  if (bits === 0n) return value
  const down = value >> bits
  const rest = value - (down << bits)
  const half = 1n << (bits - 1n)
  return rest > half || (rest === half && (down & 1n) === 1n) ? down + 1n : down
}

/** The integer square root, rounded down. */
function squareRoot (value) {
  if (value < 2n) return value
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1)
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/** The exact sum of squares (AR-12). */
function squaredNorm (vector) {
  let sum = 0n
  for (const entry of vector) sum += entry * entry
  return sum
}

const isInt64 = value => typeof value === 'bigint' && BigInt.asIntN(64, value) === value

// --- The lattice (AR-1 to AR-5) ---

const bitsView = new DataView(new ArrayBuffer(8))

/** The integer nearest to value * 2^f, ties to even; null for what is not finite (AR-3). */
function toLattice (value, f) {
  if (!Number.isFinite(value)) return null
  bitsView.setFloat64(0, value)
  const bits = bitsView.getBigUint64(0)
  const exponent = Number((bits >> 52n) & 0x7ffn)
  let mantissa = bits & 0xfffffffffffffn
  if (exponent > 0) mantissa |= 1n << 52n
  if (bits >> 63n) mantissa = -mantissa
  const shift = BigInt(Math.max(exponent, 1) - 1075) + f
  return shift >= 0n ? mantissa << shift : roundShift(mantissa, -shift)
}

/** value / 2^bits as the nearest double, ties to even (AR-4). */
function toDouble (value, bits) {
  const size = magnitude(value)
  const length = size.toString(2).length
  // The last bit that a double has here: 53 bits, fewer near zero.
  const last = Math.max(length - Number(bits) - 53, -1074)
  const drop = BigInt(last) + bits
  let double
  if (drop <= 0n) double = Number(size) / 2 ** Math.min(Number(bits), 1000) / 2 ** Math.max(Number(bits) - 1000, 0)
  else double = Number(roundShift(size, drop)) * 2 ** last
  return value < 0n ? -double : double
}

// --- The field (HA-1, HA-2) ---

function power (base, exponent, p) {
  let result = 1n % p
  for (base %= p; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = result * base % p
    base = base * base % p
  }
  return result
}

const WITNESSES = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n]

/** Miller and Rabin's test; these witnesses decide every number below 2^64. */
function isPrime (p) {
  if (p < 2n) return false
  for (const w of WITNESSES) if (p % w === 0n) return p === w
  let odd = p - 1n
  let twos = 0
  while ((odd & 1n) === 0n) {
    odd >>= 1n
    twos++
  }
  return WITNESSES.every(w => {
    let x = power(w, odd, p)
    if (x === 1n || x === p - 1n) return true
    for (let i = 1; i < twos; i++) {
      x = x * x % p
      if (x === p - 1n) return true
    }
    return false
  })
}

/** The largest r with r^degree <= value. */
function integerRoot (value, degree) {
  let low = 1n
  let high = 1n << BigInt(Math.ceil(value.toString(2).length / degree) + 1)
  while (high - low > 1n) {
    const middle = (low + high) >> 1n
    if (middle ** BigInt(degree) <= value) low = middle
    else high = middle
  }
  return low
}

/** Refuses what is no prime field: powers of primes by HA-2, the rest by HA-1. */
function checkField (p) {
  if (isPrime(p)) return
  const bits = p > 1n ? p.toString(2).length : 0
  for (let degree = 2; degree <= bits; degree++) {
    const root = integerRoot(p, degree)
    if (root ** BigInt(degree) === p && isPrime(root)) throw new Refusal('HA-2', `${p} is the order of an extension field`)
  }
  throw new Refusal('HA-1', `${p} is not a prime`)
}

function checkLength (p, length) {
  if (p <= length) throw new Refusal('HA-1', `the prime ${p} is not larger than dT = ${length}`)
}

function checkKey (p, key) {
  if (key < 0n || key >= p) throw new Refusal('LV-3', `${key} is not in 0..${p - 1n}`)
}

// --- Fractions ---

class Fraction {
  constructor (numerator, denominator = 1n) {
    if (denominator < 0n) {
      numerator = -numerator
      denominator = -denominator
    }
    let a = magnitude(numerator)
    let b = denominator
    while (b) [a, b] = [b, a % b]
    this.numerator = numerator / a
    this.denominator = denominator / a
  }

  static of (value) {
    if (value instanceof Fraction) return value
    if (typeof value === 'string') return new Fraction(...value.split('/').map(BigInt))
    return new Fraction(BigInt(value))
  }

  plus (other) {
    other = Fraction.of(other)
    return new Fraction(this.numerator * other.denominator + other.numerator * this.denominator, this.denominator * other.denominator)
  }

  times (other) {
    other = Fraction.of(other)
    return new Fraction(this.numerator * other.numerator, this.denominator * other.denominator)
  }

  minus (other) { return this.plus(Fraction.of(other).times(-1n)) }

  over (other) {
    other = Fraction.of(other)
    return this.times(new Fraction(other.denominator, other.numerator))
  }

  raised (exponent) { return new Fraction(this.numerator ** BigInt(exponent), this.denominator ** BigInt(exponent)) }

  absolute () { return new Fraction(magnitude(this.numerator), this.denominator) }

  compare (other) {
    const difference = this.minus(other).numerator
    return difference < 0n ? -1 : difference > 0n ? 1 : 0
  }

  /** Rounded up to an integer. */
  up () { return -floorDivide(-this.numerator, this.denominator) }

  nearest () { return roundDivide(this.numerator, this.denominator) }

  toNumber () { return Number(this.numerator) / Number(this.denominator) }

  toString () { return `${this.numerator}/${this.denominator}` }
}

module.exports = {
  Refusal, JsonReader, writeJson, magnitude, residue, floorDivide, roundShift, squareRoot, squaredNorm, isInt64,
  toLattice, toDouble, power, checkField, checkLength, checkKey, Fraction
}
