'use strict'
// Lean validation, one agent: routes, encodings, floods, checks (spec/lean-validation.md). Written from spec/ alone.

const { createHash } = require('crypto')
const { Refusal, magnitude, residue, floorDivide, squareRoot, squaredNorm } = require('./integers')
const {
  LEARNING, AGREEMENT, Agent, Agreement, alarm, fourHashes, makeEstimate, makeParameters, powersOf, relationRest,
  roundPolynomial, sameValue, statisticAlarms, tagText
} = require('./protocol')

const FIX = 'LeanValidate.fix'
const OPEN = 'LeanValidate.open'
const REPORTS = 'LeanValidate.report'
const COMPARE = 'LeanValidate.compare'

// The slots, as numbers (RE-4).
const FIXED = -2
const OPENING = -3
const REPORT = -4
const SUM = -5
const TOTAL = -6

const BEYOND = 1n << 256n

// --- Parameters and routes ---

/** The public parameters of a run with lean validation, or a refusal (LE-1, LE-3). */
function makeLeanParameters (header) {
  const parameters = makeParameters(header)
  const { n, p, bounds, gradient, gradientLimit, weightings } = parameters
  const kappa = Number(header.lean.kappa)
  if (!(Number.isInteger(kappa) && kappa >= 1 && kappa <= 64)) throw new Refusal('LE-1', `kappa = ${header.lean.kappa} is not in 1..64`)
  if (!/^[0-9a-f]{64}$/.test(header.lean.run)) throw new Refusal('LE-1', 'the name of the run is not 64 hexadecimal digits')
  if (parameters.keysChecked !== 'all') throw new Refusal('LE-1', 'lean validation checks all keys')
  const norms = bounds && bounds.gradientSquared.map(squareRoot)
  const terms = gradient.map((A, t) => {
    const limit = -floorDivide(1n - gradientLimit, A)
    return norms !== null && norms[t] < limit ? norms[t] : limit
  })
  const largest = weightings.map(({ weights }) => weights.reduce((sum, w, t) => sum + w * terms[t], 0n))
  for (const L of largest) if (2n * BigInt(n) * L >= p) throw new Refusal('LE-3', `a sum could wrap: L = ${L}`)
  return { ...parameters, kappa, run: Buffer.from(header.lean.run, 'hex'), largest, routes: makeRoutes(parameters.neighbours) }
}

/** LE-2, and the rounds of LE-8. */
function makeRoutes (neighbours) {
  const n = neighbours.length
  const distances = neighbours.map((_, v) => {
    const row = new Array(n).fill(-1)
    row[v] = 0
    const queue = [v]
    for (const u of queue) {
      for (const w of neighbours[u]) {
        if (row[w] < 0) {
          row[w] = row[u] + 1
          queue.push(w)
        }
      }
    }
    return row
  })
  const farthest = distances.map(row => Math.max(...row))
  const diameter = Math.max(...farthest)
  const height = Math.min(...farthest)
  const root = farthest.indexOf(height)
  const depth = distances[root]
  const parent = neighbours.map((list, v) => {
    const nearer = list.find(u => depth[u] < depth[v])
    return nearer === undefined ? null : nearer
  })
  const children = neighbours.map((_, v) => parent.flatMap((u, w) => u === v ? [w] : []))
  const size = v => children[v].reduce((sum, u) => sum + size(u), 1)
  return {
    distances,
    diameter,
    height,
    root,
    depth,
    parent,
    children,
    sizes: neighbours.map((_, v) => size(v)),
    up: v => height - depth[v] + 1,
    down: v => height + depth[v]
  }
}

/** The phases of a run and their rounds (LE-5). */
function leanSchedule ({ T, n, routes: { height, diameter } }) {
  return [[LEARNING, T], [FIX, 2 * height], [OPEN, diameter], [REPORTS, diameter], [COMPARE, 1], [AGREEMENT, n - 1]]
}

/** What every integer of a flooded value is below, by slot (LE-7, LE-10, LE-11). */
function limitsOf ({ d, p, kappa, largest }) {
  return {
    [FIXED]: [BEYOND, ...largest.map(L => BigInt(d) * L * L + 1n)],
    [OPENING]: [BEYOND, ...new Array(kappa).fill(p)],
    [REPORT]: new Array(kappa * (4 + largest.length)).fill(p)
  }
}

// --- Encodings (LE-9) ---

function numberBytes (value) {
  if (value === 0n) return Buffer.alloc(0)
  const digits = value.toString(16)
  return Buffer.from(digits.length % 2 ? `0${digits}` : digits, 'hex')
}

function frame (pieces) {
  return Buffer.concat(pieces.flatMap(piece => {
    const length = Buffer.alloc(8)
    length.writeBigUInt64BE(BigInt(piece.length))
    return [length, piece]
  }))
}

function hashed (purpose, run, pieces) {
  const text = frame([Buffer.from(`valid-ref/lean/1/${purpose}`, 'ascii'), run, ...pieces])
  return BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)
}

/** What agent v commits to an opening (nonce, shares) with (LE-9). */
const commitment = (run, v, opening) => hashed('commitment', run, [BigInt(v), ...opening].map(numberBytes))

/** The digest of the values held (LE-13): `held(v, slot)` is a value or null. */
function digestOf (run, n, held) {
  const pieces = []
  for (let v = 0; v < n; v++) {
    for (const slot of [FIXED, OPENING, REPORT]) {
      const value = held(v, slot)
      pieces.push(value === null ? Buffer.alloc(0) : frame(value.map(numberBytes)))
    }
  }
  return hashed('digest', run, pieces)
}

/** The sums of the shares of all openings that came, modulo p (LE-10). */
function commonKeys (p, openings) {
  const known = openings.filter(opening => opening !== null)
  const kappa = known.length === 0 ? 0 : known[0].length - 1
  return Array.from({ length: kappa }, (_, i) => known.reduce((sum, opening) => sum + opening[1 + i], 0n) % p)
}

const splitBy = (vector, d) => Array.from({ length: vector.length / d }, (_, i) => vector.slice(i * d, (i + 1) * d))

/** The hash of each part of a vector under a key (HA-3). */
function partHashes ({ p, d }, key, vector) {
  const powers = powersOf(key, d, p)
  return splitBy(vector, d).map(part => roundPolynomial(powers, part, p))
}

/** What an agent with this record says of itself: q, its ghat, its report (LE-7, LE-11). */
function ownWords (parameters, keys, transcript) {
  const { p, d, mixing, startModel } = parameters
  const estimate = makeEstimate(parameters, transcript)
  const report = keys.flatMap(key =>
    [...fourHashes(p, key, mixing, startModel, transcript), ...partHashes(parameters, key, estimate)])
  return { numbers: splitBy(estimate, d).map(squaredNorm), estimate, report }
}

const sumOf = vectors => vectors[0].map((_, j) => vectors.reduce((sum, vector) => sum + vector[j], 0n))

// --- Floods, and the sum along the tree (LE-6, LE-8) ---

const key = (source, slot) => `${source},${slot}`

/** One agent in one flood; `summand` is its ghat where a sum travels beside the flood, else null. */
class Flood {
  constructor ({ phase, rounds, slot, parameters, agent, own, summand = null }) {
    Object.assign(this, { phase, rounds, slot, parameters, agent, summand })
    const { n, routes: { root } } = parameters
    const everybody = Array.from({ length: n }, (_, v) => v)
    this.tags = everybody.map(v => [v, slot])
    if (summand !== null) this.tags.push(...everybody.filter(v => v !== root).map(v => [v, SUM]), [root, TOTAL])
    this.known = new Set(this.tags.map(([v, s]) => key(v, s)))
    this.limits = limitsOf(parameters)[slot]
    this.values = new Map([[key(agent, slot), own]])
    this.fresh = [[agent, slot, own]]
  }

  held (source, slot) {
    const value = this.values.get(key(source, slot))
    return value === undefined ? null : value
  }

  send (round) {
    const entries = round <= this.parameters.routes.diameter ? this.fresh : []
    return { kind: 'entries', entries }
  }

  /** What goes to the parent or to the children alone: [receiver, message]. */
  addressed (round) {
    if (this.summand === null) return []
    const { height, root, depth, parent, children, up } = this.parameters.routes
    const more = entry => ({ kind: 'entries', entries: [...this.send(round).entries, entry] })
    if (parent[this.agent] !== null && round === up(this.agent)) {
      return [[parent[this.agent], more([this.agent, SUM, this.subtree()])]]
    }
    const total = this.held(root, TOTAL)
    if (round !== height + depth[this.agent] + 1 || total === null) return []
    return children[this.agent].map(u => [u, more([root, TOTAL, total])])
  }

  /** One's own part and the sums of the children; one that did not come counts as zero. */
  subtree () {
    const sums = this.parameters.routes.children[this.agent].map(u => this.held(u, SUM)).filter(value => value !== null)
    return sumOf([this.summand, ...sums])
  }

  receive (round, inbox) {
    const { neighbours, routes: { height, root, children } } = this.parameters
    const alarms = []
    this.fresh = []
    for (const sender of neighbours[this.agent]) this.hear(round, sender, inbox.get(sender), alarms)
    if (this.summand !== null && this.agent === root && round === height) this.values.set(key(root, TOTAL), this.subtree())
    if (round === this.rounds) {
      for (const [source, slot] of this.tags) {
        const expected = slot !== SUM || children[this.agent].includes(source)
        if (expected && this.held(source, slot) === null) {
          alarms.push(alarm('NO_VALUE', this.phase, round, null, tagText([source, slot])))
        }
      }
    }
    return alarms
  }

  hear (round, sender, message, alarms) {
    const object = (reason, about = null) => alarms.push(alarm(reason, this.phase, round, sender, about))
    if (message === undefined || message === null) return object('MISSING_MESSAGE')
    if (message.kind !== 'entries' || !Array.isArray(message.entries)) return object('MALFORMED_MESSAGE')
    const told = new Map()
    let unknown = false
    for (const entry of message.entries) {
      const isTag = Array.isArray(entry) && entry.length === 3 && typeof entry[0] === 'bigint' && typeof entry[1] === 'bigint'
      const name = isTag ? key(entry[0], entry[1]) : null
      if (!this.known.has(name)) unknown = true
      else if (told.has(name)) return object('MALFORMED_MESSAGE') // a tag of the phase twice is no mapping
      else told.set(name, entry[2])
    }
    const public_ = this.tags.filter(tag => told.has(key(...tag)))
    if (unknown || public_.some(tag => this.window(sender, tag) === null)) object('UNKNOWN_TAG')
    for (const tag of public_) {
      const window = this.window(sender, tag)
      const value = told.get(key(...tag))
      if (window === null || value === null) continue
      const held = this.held(...tag)
      if (!this.wellFormed(tag, value)) object('MALFORMED_VALUE', tagText(tag))
      else if (round < window[0]) object('EARLY_VALUE', tagText(tag))
      else if (round > window[1]) object('LATE_VALUE', tagText(tag))
      else if (held === null) {
        this.values.set(key(...tag), value)
        if (tag[1] === this.slot) this.fresh.push([...tag, value])
      } else if (!sameValue(held, value)) object('DIFFERENT_VALUE', tagText(tag))
    }
  }

  /** The first and the last round in which a tag may come from a neighbour; null if in none. */
  window (sender, [source, slot]) {
    const { distances, diameter, parent, up, down } = this.parameters.routes
    if (slot === SUM) return source === sender && parent[sender] === this.agent ? [up(sender), up(sender)] : null
    if (slot === TOTAL) return parent[this.agent] === sender ? [down(this.agent), down(this.agent)] : null
    return [distances[sender][source] + 1, diameter]
  }

  wellFormed ([source, slot], value) {
    if (!Array.isArray(value) || !value.every(entry => typeof entry === 'bigint')) return false
    const { n, d, largest, routes: { sizes } } = this.parameters
    if (slot === SUM || slot === TOTAL) {
      const count = BigInt(slot === TOTAL ? n : sizes[source])
      return value.length === largest.length * d && value.every((entry, i) => magnitude(entry) <= count * largest[Math.floor(i / d)])
    }
    return value.length === this.limits.length && value.every((entry, i) => entry >= 0n && entry < this.limits[i])
  }
}

// --- The comparison (LE-13) ---

class Compare {
  constructor (neighbours, digest) {
    Object.assign(this, { neighbours, digest })
  }

  send () {
    return { kind: 'digest', value: this.digest }
  }

  receive (round, inbox) {
    const alarms = []
    for (const sender of this.neighbours) {
      const message = inbox.get(sender)
      const object = reason => alarms.push(alarm(reason, COMPARE, round, sender))
      if (message === undefined || message === null) object('MISSING_MESSAGE')
      else if (message.kind !== 'digest' || typeof message.value !== 'bigint' || message.value < 0n || message.value >= BEYOND) {
        object('MALFORMED_MESSAGE')
      } else if (message.value !== this.digest) object('DIGEST_MISMATCH')
    }
    return alarms
  }
}

// --- The agent ---

/** One agent in a run with lean validation; its secret is its opening: the nonce, then the shares. */
class LeanAgent extends Agent {
  checkSecret ({ p, kappa }, opening) {
    const fits = Array.isArray(opening) && opening.length === 1 + kappa &&
      opening.every((entry, i) => typeof entry === 'bigint' && entry >= 0n && entry < (i === 0 ? BEYOND : p))
    if (!fits) throw new Refusal('LE-4', `the opening is no nonce with ${kappa} shares`)
  }

  get schedule () {
    return leanSchedule(this.parameters)
  }

  addressed (round) {
    const [, number] = this.place(round)
    return this.current instanceof Flood ? this.current.addressed(number) : []
  }

  begin () {
    this.floods = {}
    this.ownWords = ownWords(this.parameters, [], this.record)
    const committed = commitment(this.parameters.run, this.agent, this.secret)
    this.flood(FIX, FIXED, [committed, ...this.ownWords.numbers], this.ownWords.estimate)
  }

  flood (phase, slot, own, summand = null) {
    const { parameters, agent } = this
    const [, rounds] = this.schedule.find(([name]) => name === phase)
    this.current = this.floods[slot] = new Flood({ phase, rounds, slot, parameters, agent, own, summand })
  }

  held (v, slot) {
    return this.floods[slot].held(v, slot)
  }

  /** The values of all agents in a slot, null where there is none. */
  all (slot) {
    return this.parameters.neighbours.map((_, v) => this.held(v, slot))
  }

  leave (phase, round) {
    const { run, n } = this.parameters
    if (phase === FIX) this.flood(OPEN, OPENING, this.secret)
    else if (phase === OPEN) this.checkOpenings(round)
    else if (phase === REPORTS) {
      this.checkReports(round)
      this.current = new Compare(this.neighbours, digestOf(run, n, (v, slot) => this.held(v, slot)))
    } else if (phase === COMPARE) this.current = new Agreement(this.neighbours, this.alarms.length > 0)
  }

  /** LE-10. */
  checkOpenings (round) {
    const { run, p } = this.parameters
    const openings = this.all(OPENING)
    openings.forEach((opening, v) => {
      const fixed = this.held(v, FIXED)
      if (opening !== null && fixed !== null && commitment(run, v, opening) !== fixed[0]) {
        this.alarms.push(alarm('OPENING_MISMATCH', OPEN, round, null, `${v}`))
      }
    })
    this.keys = commonKeys(p, openings)
    this.flood(REPORTS, REPORT, ownWords(this.parameters, this.keys, this.record).report)
  }

  /** LE-12. */
  checkReports (round) {
    const { p, k, d, neighbours, weightings, routes: { root } } = this.parameters
    const object = (reason, sender, about) => this.alarms.push(alarm(reason, REPORTS, round, sender, about))
    for (const u of this.neighbours) {
      const { numbers, report } = ownWords(this.parameters, this.keys, this.transcripts.get(u))
      const fixed = this.held(u, FIXED)
      const said = this.held(u, REPORT)
      if (fixed !== null && !sameValue(fixed.slice(1), numbers)) object('RECORD_MISMATCH', u, tagText([u, FIXED]))
      if (said !== null && !sameValue(said, report)) object('RECORD_MISMATCH', u, tagText([u, REPORT]))
    }
    const width = 4 + weightings.length
    const reports = this.all(REPORT)
    const under = this.keys.map((_, i) => reports.map(report => report && report.slice(i * width, (i + 1) * width)))
    under.forEach((known, i) => known.forEach((own, v) => {
      const others = neighbours[v].map(u => known[u])
      if (own === null || others.includes(null)) return
      if (residue(relationRest(k, own, others), p) !== 0n) object('BROKEN_RELATION', null, `${v}/${i}`)
    }))
    const total = this.floods[FIXED].held(root, TOTAL)
    if (total !== null && !reports.includes(null)) {
      const hashes = this.keys.map(key => partHashes(this.parameters, key, total))
      weightings.forEach(({ name }, index) => {
        const differs = under.some((known, i) =>
          residue(known.reduce((sum, words) => sum + words[4 + index], 0n) - hashes[i][index], p) !== 0n)
        if (differs) object('WRONG_TOTAL', null, name)
      })
    }
    const fixed = this.all(FIXED)
    weightings.forEach((weighting, index) => {
      const optimality = total === null ? null : squaredNorm(total.slice(index * d, (index + 1) * d))
      const heterogeneity = fixed.includes(null) ? null : fixed.reduce((sum, value) => sum + value[1 + index], 0n)
      for (const reason of statisticAlarms(weighting, optimality, heterogeneity)) object(reason, null, weighting.name)
    })
  }
}

module.exports = {
  FIXED, OPENING, REPORT, SUM, TOTAL, FIX, LeanAgent, makeLeanParameters, makeRoutes, leanSchedule, limitsOf, commitment, digestOf, commonKeys, ownWords
}
