'use strict'
// One agent of VALID, written from spec/ alone. The clause that a part follows is named beside it.

const {
  Refusal, magnitude, residue, floorDivide, roundShift, squaredNorm, isInt64, checkField, checkLength, checkKey
} = require('./integers')

const LEARNING = 'LearnModel'
const KEYS = 'LocalValidate.keys'
const HASHES = 'LocalValidate.hashes'
const LOCAL = 'LocalValidate'
const GLOBAL = 'GlobalValidate'
const AGREEMENT = 'ValidationStateAgreement'

const KEY_SLOT = -1

// The slots that have names (RE-4).
const SLOT_NAMES = { [KEY_SLOT]: 'key', '-2': 'fixed', '-3': 'opening', '-4': 'report', '-5': 'sum', '-6': 'total' }

// The clause that an alarm of this reason carries (MO-7).
const CLAUSES = {
  MISSING_MESSAGE: 'MO-8',
  MALFORMED_MESSAGE: 'MO-8',
  OUT_OF_RANGE: 'AR-11',
  OWN_UPDATE_OUT_OF_RANGE: 'AR-14',
  UNKNOWN_TAG: 'VB-9',
  MALFORMED_VALUE: 'VB-9',
  DIFFERENT_VALUE: 'VB-6',
  NO_VALUE: 'VB-8',
  MODEL_NORM: 'LV-2',
  GRADIENT_NORM: 'LV-2',
  INCONSISTENT_HASHES: 'LV-7',
  BROKEN_RELATION: 'LV-8',
  SELF_MISMATCH: 'LV-9',
  INCONSISTENT_ESTIMATES: 'GV-4',
  SELF_ESTIMATE_MISMATCH: 'GV-4',
  NOT_OPTIMAL: 'GV-5',
  TOO_OPTIMAL: 'GV-13',
  TOO_HETEROGENEOUS: 'GV-6',
  TOO_HOMOGENEOUS: 'GV-13',
  NEIGHBOUR_ALARM: 'SA-3',
  EARLY_VALUE: 'LE-6',
  LATE_VALUE: 'LE-6',
  OPENING_MISMATCH: 'LE-10',
  RECORD_MISMATCH: 'LE-12',
  WRONG_TOTAL: 'LE-12',
  DIGEST_MISMATCH: 'LE-13'
}

function alarm (reason, phase, round, sender = null, about = null) {
  return { reason, clause: CLAUSES[reason], phase, round, sender, about }
}

// --- Public parameters ---

/** A count as a Number, or a refusal: booleans, reals and texts are no integers. */
function readCount (value, clause) {
  const count = typeof value === 'bigint' ? Number(value) : value
  if (!Number.isSafeInteger(count)) throw new Refusal(clause, `${value} is not an integer that counts`)
  return count
}

/** The neighbours of every agent in increasing order (MO-1), or a refusal (MO-2). */
function neighbourhoods (agents, edges) {
  if (readCount(agents, 'MO-2') < 2) throw new Refusal('MO-2', `${agents} agents are fewer than two`)
  const sets = Array.from({ length: Number(agents) }, () => new Set())
  for (const edge of edges) {
    if (!Array.isArray(edge) || edge.length !== 2) throw new Refusal('MO-2', 'an edge is not a pair of agents')
    const [u, v] = edge.map(agent => readCount(agent, 'MO-2'))
    if (u === v) throw new Refusal('MO-2', `agent ${u} has an edge to itself`)
    for (const w of [u, v]) if (!(w >= 0 && w < agents)) throw new Refusal('MO-2', `there is no agent ${w}`)
    if (sets[u].has(v)) throw new Refusal('MO-2', `the edge ${u}, ${v} occurs twice`)
    sets[u].add(v)
    sets[v].add(u)
  }
  const lists = sets.map(set => [...set].sort((u, v) => u - v))
  if (reachable(lists, 0, () => true).size < agents) throw new Refusal('MO-2', 'the graph is not connected')
  return lists
}

/** The agents that a walk from one agent over admitted agents reaches. */
function reachable (neighbours, begin, admitted) {
  const seen = new Set([begin])
  for (const u of seen) for (const v of neighbours[u]) if (admitted(v)) seen.add(v)
  return seen
}

const isAtLeast = (value, least) => typeof value === 'bigint' && value >= least

/** The number of fraction or step bits, or a refusal (AR-1). */
function checkBits (bits) {
  if (!isAtLeast(bits, 0n) || bits > 60n) throw new Refusal('AR-1', `${bits} bits are not in 0..60`)
}

/** A step a_t or A_t, or a refusal (AR-2). */
function checkStep (step) {
  if (!isAtLeast(step, 1n) || step >= 1n << 62n) throw new Refusal('AR-2', `the step ${step} is not in 1..2^62-1`)
}

/** The sum W of weights, or a refusal (GV-1). */
function sumOfWeights (weights) {
  if (!weights.every(weight => isAtLeast(weight, 0n))) throw new Refusal('GV-1', 'a weight is not an integer from 0 on')
  const total = weights.reduce((a, b) => a + b, 0n)
  if (total === 0n) throw new Refusal('GV-1', 'all weights are 0')
  return total
}

/** The left side of the range rule (AR-10), or a refusal. No graph has a maxdeg below 1. */
function largestIntermediate (k, mixing, maxDegree, p, modelLimit, gradientLimit) {
  for (const value of [modelLimit, gradientLimit, maxDegree]) {
    if (!isAtLeast(value, 1n)) throw new Refusal('AR-10', `${value} is no limit and no largest degree: it is not from 1 on`)
  }
  const largest = modelLimit * modelFactor(k, mixing, maxDegree) + gradientLimit
  if (largest >= rangeEnd(p)) throw new Refusal('AR-10', `${largest} is not below ${rangeEnd(p)}`)
  return largest
}

const rangeEnd = p => p < 1n << 62n ? p : 1n << 62n
const modelFactor = (k, mixing, maxDegree) => (1n << (k + 1n)) + 2n * mixing.reduce((a, b) => a > b ? a : b) * maxDegree

/** The default X_max and G_max (AR-10), or a refusal. */
function defaultLimits (k, mixing, maxDegree, p) {
  const gradientLimit = rangeEnd(p) / 2n
  const modelLimit = floorDivide(rangeEnd(p) - 1n - gradientLimit, modelFactor(k, mixing, maxDegree))
  largestIntermediate(k, mixing, maxDegree, p, modelLimit, gradientLimit)
  return { modelLimit, gradientLimit }
}

/** The public parameters under the names of VA-9, or a refusal; integers are BigInt. */
function makeParameters (header) {
  const n = readCount(header.agents, 'MO-2')
  const neighbours = neighbourhoods(n, header.edges)
  const d = readCount(header.dimension, 'AR-10')
  if (d < 1) throw new Refusal('AR-10', `the dimension ${d} is below 1`)
  const T = header.mixing.length
  const p = header.prime
  const k = header.step_bits
  checkBits(header.fraction_bits)
  checkBits(k)
  if (T < 1 || header.gradient.length !== T) throw new Refusal('AR-2', 'there is not one a_t and one A_t for every round')
  for (const step of [...header.mixing, ...header.gradient]) checkStep(step)
  checkField(p)
  checkLength(p, BigInt(d) * BigInt(T))
  if (header.max_degree < Math.max(...neighbours.map(list => list.length))) {
    throw new Refusal('AR-10', `an agent has more than ${header.max_degree} neighbours`)
  }
  largestIntermediate(k, header.mixing, header.max_degree, p, header.model_limit, header.gradient_limit)
  const startModel = header.start_model === null ? new Array(d).fill(0n) : header.start_model
  if (startModel.length !== d || !startModel.every(isInt64)) throw new Refusal('LM-1', `x_0 is not ${d} integers of 64 bits`)
  if (!inRange(startModel, header.model_limit)) throw new Refusal('AR-10', 'x_0 is out of range')
  if (!['all', 'own'].includes(header.keys_checked)) throw new Refusal('LV-10', `the keys ${header.keys_checked} cannot be checked`)
  const parameters = {
    n,
    neighbours,
    d,
    T,
    p,
    k,
    f: header.fraction_bits,
    mixing: header.mixing,
    gradient: header.gradient,
    modelLimit: header.model_limit,
    gradientLimit: header.gradient_limit,
    startModel,
    bounds: header.bounds === null ? null : makeBounds(T, header.bounds),
    keysChecked: header.keys_checked
  }
  parameters.weightings = header.weightings.map(weighting => makeWeighting(parameters, weighting))
  return parameters
}

/** The squares of B_t and C_t, or a refusal (LV-2). */
function makeBounds (T, { model_squared: modelSquared, gradient_squared: gradientSquared }) {
  for (const squares of [modelSquared, gradientSquared]) {
    if (squares.length !== T) throw new Refusal('LV-2', `there are ${squares.length} bounds for ${T} rounds`)
    if (!squares.every(square => isAtLeast(square, 0n))) throw new Refusal('LV-2', 'a bound is not an integer from 0 on')
  }
  return { modelSquared, gradientSquared }
}

/** A weighting with the largest entry that the form of an estimate admits (GV-3), or a refusal. */
function makeWeighting (parameters, { name, weights, optimality, heterogeneity, ...lower }) {
  if (weights.length !== parameters.T) throw new Refusal('GV-1', `${name} has ${weights.length} weights for ${parameters.T} rounds`)
  const total = sumOfWeights(weights)
  for (const threshold of [optimality, heterogeneity]) {
    if (!isAtLeast(threshold, 1n)) throw new Refusal('GV-7', `the threshold ${threshold} of ${name} is not positive`)
  }
  const { optimality_low: optimalityLow, heterogeneity_low: heterogeneityLow } = lower
  for (const [low, high] of [[optimalityLow, optimality], [heterogeneityLow, heterogeneity]]) {
    if (!isAtLeast(low, 0n) || low > high) throw new Refusal('GV-13', `the lower threshold ${low} of ${name} is not in 0..${high}`)
  }
  const entryLimit = total * parameters.gradientLimit
  return { name, weights, total, optimality, heterogeneity, optimalityLow, heterogeneityLow, entryLimit }
}

// --- Arithmetic of learning ---

/** Y: exact mixing (AR-4). */
function mix (k, a, own, others) {
  return own.map((x, j) => {
    let sum = 0n
    for (const other of others) sum += other[j] - x
    return (x << k) + a * sum
  })
}

/** Model and scaled gradient (AR-5), or null if one of them leaves the range (AR-14). */
function update (k, A, modelLimit, gradientLimit, Y, ghat) {
  const model = Y.map((y, j) => roundShift(y - A * ghat[j], k))
  const scaledGradient = Y.map((y, j) => y - (model[j] << k))
  return inRange(model, modelLimit) && inRange(scaledGradient, gradientLimit) ? { model, scaledGradient } : null
}

const inRange = (vector, limit) => vector.every(entry => magnitude(entry) < limit)

/** The gradient that is read off a message (AR-8). */
const readGradient = (A, scaledGradient) => scaledGradient.map(entry => floorDivide(entry, A))

// --- Hashes ---

/** The sum of entry j times key^j modulo p; powers are those of the key (HA-9). */
function roundPolynomial (powers, vector, p) {
  let sum = 0n
  for (let j = 0; j < vector.length; j++) sum += vector[j] * powers[j]
  return residue(sum, p)
}

function powersOf (key, count, p) {
  const powers = [1n % p]
  while (powers.length < count) powers.push(powers[powers.length - 1] * key % p)
  return powers
}

/** H_out, H_in, H_in,eta and H_Gamma of one transcript under one key (HA-10, LV-5). */
function fourHashes (p, key, mixing, startModel, transcript) {
  const d = startModel.length
  const powers = powersOf(key, d, p)
  const step = powers[d - 1] * key % p
  let out = 0n
  let into = 0n
  let intoEta = 0n
  let gamma = 0n
  let block = 1n
  let before = roundPolynomial(powers, startModel, p)
  for (let t = 0; t < transcript.length; t++) {
    const after = roundPolynomial(powers, transcript[t].model, p)
    out += block * after
    into += block * before
    intoEta += block * (mixing[t] * before % p)
    gamma += block * roundPolynomial(powers, transcript[t].scaledGradient, p)
    block = block * step % p
    before = after
  }
  return [out % p, into % p, intoEta % p, gamma % p]
}

/** The report about one transcript: four hashes for every key owner in order (LV-6). */
function makeReport (parameters, keys, transcript) {
  return keys.flatMap(key => fourHashes(parameters.p, key, parameters.mixing, parameters.startModel, transcript))
}

// --- Forms of broadcast values (VB-9) ---

const isKey = p => value => typeof value === 'bigint' && value >= 0n && value < p

/** LV-6. */
function isReport (p, n) {
  const isHash = isKey(p)
  return value => Array.isArray(value) && value.length === 4 * n && value.every(isHash)
}

/** GV-3, and GV-12 for several weightings. */
function isEstimate ({ d, weightings }) {
  return value => Array.isArray(value) && value.length === weightings.length * d &&
    value.every((entry, i) => typeof entry === 'bigint' && magnitude(entry) <= weightings[Math.floor(i / d)].entryLimit)
}

function sameValue (left, right) {
  if (left === right) return true
  if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
  return left.every((entry, i) => entry === right[i])
}

// --- ValidatedBroadcast ---

/** The tags of a broadcast of keys, and of reports or estimates, in increasing order (VB-1, LV-4, LV-6, GV-3). */
const keyTags = n => Array.from({ length: n }, (_, v) => [v, KEY_SLOT])
const edgeTags = neighbours => neighbours.flatMap((list, v) => list.map(u => [v, u]))

const tagText = ([source, slot]) => `${source}/${slot < 0 ? SLOT_NAMES[slot] : slot}`

/** One agent in one broadcast of |V| rounds (VB-2). `own` has its values by slot; `flood` is "fresh" or "held" (VB-4). */
class Broadcast {
  constructor ({ phase, rounds, neighbours, tags, wellFormed, agent, own, flood }) {
    Object.assign(this, { phase, rounds, neighbours, tags, wellFormed, flood })
    this.rows = new Map(tags.map(([source, slot], row) => [`${source},${slot}`, row]))
    this.held = tags.map(([source, slot]) => source === agent ? own.get(slot) : null) // VB-3
    this.fresh = tags.flatMap(([source], row) => source === agent ? [row] : [])
  }

  value (source, slot) {
    return this.held[this.rows.get(`${source},${slot}`)]
  }

  /** VB-4 in a flood round, VB-7 in the compare round. */
  send (round) {
    let rows = this.fresh
    if (round === this.rounds || this.flood === 'held') rows = this.tags.flatMap((_, row) => this.held[row] === null ? [] : [row])
    rows.sort((a, b) => a - b)
    this.fresh = []
    return { kind: 'entries', entries: rows.map(row => [...this.tags[row], this.held[row]]) }
  }

  /** The alarms of a round in the order of MO-12; inbox maps senders to messages. */
  receive (round, inbox) {
    const alarms = []
    for (const sender of this.neighbours) this.hear(round, sender, inbox.get(sender), alarms)
    if (round === this.rounds) { // VB-8
      this.tags.forEach((tag, row) => {
        if (this.held[row] === null) alarms.push(alarm('NO_VALUE', this.phase, round, null, tagText(tag)))
      })
    }
    return alarms
  }

  hear (round, sender, message, alarms) {
    const object = (reason, about = null) => alarms.push(alarm(reason, this.phase, round, sender, about))
    if (message === undefined || message === null) return object('MISSING_MESSAGE') // MO-8, VB-9
    if (message.kind !== 'entries' || !Array.isArray(message.entries)) return object('MALFORMED_MESSAGE')
    const values = new Map()
    let unknown = false
    for (const entry of message.entries) {
      const isTag = Array.isArray(entry) && entry.length === 3 && typeof entry[0] === 'bigint' && typeof entry[1] === 'bigint'
      const row = isTag ? this.rows.get(`${entry[0]},${entry[1]}`) : undefined
      if (row === undefined) unknown = true
      else if (values.has(row)) return object('MALFORMED_MESSAGE') // a tag twice is no mapping
      else values.set(row, entry[2])
    }
    if (unknown) object('UNKNOWN_TAG')
    const malformed = []
    const different = []
    for (const [row, value] of values) {
      const held = this.held[row]
      if (value === null || value === held) continue
      if (!this.wellFormed(value)) malformed.push(row)
      else if (held !== null) {
        if (!sameValue(value, held)) different.push(row) // VB-6
      } else if (round < this.rounds) { // VB-5: senders come in increasing order
        this.held[row] = value
        this.fresh.push(row)
      }
    }
    const inOrder = rows => rows.sort((a, b) => a - b).map(row => tagText(this.tags[row]))
    for (const about of inOrder(malformed)) object('MALFORMED_VALUE', about)
    for (const about of inOrder(different)) object('DIFFERENT_VALUE', about)
  }
}

// --- ValidationStateAgreement ---

/** One agent in the agreement of |V|-1 rounds (SA-1). */
class Agreement {
  constructor (neighbours, alarmed) {
    this.neighbours = neighbours
    this.alarmed = alarmed
    this.raised = new Set()
  }

  /** SA-2. */
  send () {
    return { kind: 'flag', value: this.alarmed }
  }

  /** SA-3 and SA-4; each reason once for a neighbour. */
  receive (round, inbox) {
    const alarms = []
    for (const sender of this.neighbours) {
      const message = inbox.get(sender)
      let reason = null
      if (message === undefined || message === null) reason = 'MISSING_MESSAGE'
      else if (message.kind !== 'flag' || typeof message.value !== 'boolean') reason = 'MALFORMED_MESSAGE'
      else if (message.value) reason = 'NEIGHBOUR_ALARM'
      if (reason === null) continue
      this.alarmed = true
      if (this.raised.has(`${reason} ${sender}`)) continue
      this.raised.add(`${reason} ${sender}`)
      alarms.push(alarm(reason, AGREEMENT, round, sender))
    }
    return alarms
  }
}

// --- Checks ---

/** The norms of what one neighbour sent (LV-2). */
function checkNorms ({ bounds, gradient }, sender, transcript) {
  const alarms = []
  if (bounds === null) return alarms
  transcript.forEach(({ model, scaledGradient }, t) => {
    if (squaredNorm(model) > bounds.modelSquared[t]) alarms.push(alarm('MODEL_NORM', LOCAL, t + 1, sender))
    const read = readGradient(gradient[t], scaledGradient)
    if (squaredNorm(read) > bounds.gradientSquared[t]) alarms.push(alarm('GRADIENT_NORM', LOCAL, t + 1, sender))
  })
  return alarms
}

/** The reports about v that are held, lowest reporter first: pairs [reporter, value] (LV-11, GV-8). */
function heldReports (parameters, held) {
  return parameters.neighbours.map((list, v) =>
    list.map(reporter => [reporter, held(reporter, v)]).filter(([, value]) => value !== null && value !== undefined))
}

/** What is left of the linear relation of an agent with this hashes and those of its neighbours (LV-8). */
function relationRest (k, [out, into, intoEta, gamma], others) {
  return others.reduce((rest, other) => rest - (other[2] - intoEta), (out - into) * (1n << k) + gamma)
}

/** The tests that statistics fail, in their order (GV-5, GV-6, GV-13); null is a statistic that is not known. */
function statisticAlarms ({ optimality: high, optimalityLow, heterogeneity: wide, heterogeneityLow }, optimality, heterogeneity) {
  const reasons = []
  if (optimality !== null && optimality > high ** 2n) reasons.push('NOT_OPTIMAL')
  if (optimality !== null && optimality < optimalityLow ** 2n) reasons.push('TOO_OPTIMAL')
  if (heterogeneity !== null && heterogeneity > wide) reasons.push('TOO_HETEROGENEOUS')
  if (heterogeneity !== null && heterogeneity < heterogeneityLow) reasons.push('TOO_HOMOGENEOUS')
  return reasons
}

/**
 * LV-7, LV-8 and LV-9. `held(reporter, agent)` is a report or null, `own` the hashes of the own record under all keys.
 * `without` may have P07 (no self-check) and P08 (neighbours alone are checked): the text as printed, for vectors.
 */
function checkHashes (parameters, agent, held, own, without = []) {
  const { n, p, k, neighbours, keysChecked } = parameters
  const alarms = []
  const reports = heldReports(parameters, held)
  const everybody = Array.from({ length: n }, (_, v) => v)
  const checked = without.includes('P08') ? neighbours[agent] : everybody
  for (const owner of keysChecked === 'own' ? [agent] : everybody) { // LV-10
    const part = report => report.slice(4 * owner, 4 * owner + 4)
    const object = (reason, v, sender = null) => alarms.push(alarm(reason, LOCAL, n, sender, `${v}/${owner}`))
    const hashes = reports.map(list => list.map(([, report]) => part(report)))
    for (const v of checked) {
      if (hashes[v].some(other => !sameValue(other, hashes[v][0]))) object('INCONSISTENT_HASHES', v)
    }
    for (const v of checked) {
      if ([v, ...neighbours[v]].some(u => hashes[u].length === 0)) continue // LV-11
      const rest = relationRest(k, hashes[v][0], neighbours[v].map(u => hashes[u][0]))
      if (rest % p !== 0n) object('BROKEN_RELATION', v)
    }
    if (without.includes('P07')) continue
    for (const [reporter, report] of reports[agent]) {
      if (!sameValue(part(report), part(own))) object('SELF_MISMATCH', agent, reporter)
    }
  }
  return alarms
}

/** For each weighting the entries of ghat (GV-2, GV-12). */
function makeEstimate ({ d, gradient, weightings }, transcript) {
  const read = transcript.map(({ scaledGradient }, t) => readGradient(gradient[t], scaledGradient))
  return weightings.flatMap(({ weights }) => {
    const sums = new Array(d).fill(0n)
    weights.forEach((weight, t) => {
      for (let j = 0; j < d; j++) sums[j] += weight * read[t][j]
    })
    return sums
  })
}

/** GV-4 to GV-6 and GV-13: the alarms, and the statistics of each weighting or null if an agent has no estimate (GV-8). */
function checkEstimates (parameters, agent, held, own) {
  const { n, d, weightings } = parameters
  const alarms = []
  const estimates = heldReports(parameters, held)
  estimates.forEach((list, v) => {
    if (list.some(([, value]) => !sameValue(value, list[0][1]))) {
      alarms.push(alarm('INCONSISTENT_ESTIMATES', GLOBAL, n, null, `${v}`))
    }
  })
  for (const [reporter, value] of estimates[agent]) {
    if (!sameValue(value, own)) alarms.push(alarm('SELF_ESTIMATE_MISMATCH', GLOBAL, n, reporter, `${agent}`))
  }
  if (estimates.some(list => list.length === 0)) return { alarms, statistics: null }
  const statistics = weightings.map((_, i) => {
    const sums = new Array(d).fill(0n)
    let heterogeneity = 0n
    for (const [[, value]] of estimates) {
      const ghat = value.slice(i * d, (i + 1) * d)
      ghat.forEach((entry, j) => { sums[j] += entry })
      heterogeneity += squaredNorm(ghat)
    }
    return { optimality: squaredNorm(sums), heterogeneity }
  })
  weightings.forEach((weighting, i) => {
    const { optimality, heterogeneity } = statistics[i]
    for (const reason of statisticAlarms(weighting, optimality, heterogeneity)) {
      alarms.push(alarm(reason, GLOBAL, n, null, weighting.name))
    }
  })
  return { alarms, statistics }
}

// --- The agent ---

/** One agent in one run: mix and send, then receive, for every round from 1 on; then end (MO-5, VA-1). */
class Agent {
  constructor (parameters, agent, secret, flood) {
    this.checkSecret(parameters, secret)
    if (parameters.neighbours[agent] === undefined) throw new Refusal('MO-1', `there is no agent ${agent}`)
    Object.assign(this, { parameters, agent, secret, flooding: flood })
    this.neighbours = parameters.neighbours[agent]
    this.alarms = []
    this.record = [] // what the agent sent in rounds 1..T (LM-3)
    this.transcripts = new Map(this.neighbours.map(u => [u, []]))
    this.silent = false
    this.current = null
  }

  /** The secret is the key (LV-3). */
  checkSecret ({ p }, key) {
    checkKey(p, key)
  }

  /** The phases, and how many rounds each has (VA-1). */
  get schedule () {
    const { T, n } = this.parameters
    return [[LEARNING, T], [KEYS, n], [HASHES, n], [GLOBAL, n], [AGREEMENT, n - 1]]
  }

  /** The phase of a round that counts through all phases, and its number there. */
  place (round) {
    let rest = round
    for (const [phase, length] of this.schedule) {
      if (rest <= length) return [phase, rest]
      rest -= length
    }
    throw new Refusal('VA-3', `there is no round ${round}`)
  }

  get zeros () {
    const zero = new Array(this.parameters.d).fill(0n)
    return { model: zero, scaledGradient: zero }
  }

  /** Y of a learning round (AR-4), from what was received in the round before (LM-2). */
  mix (round) {
    const { k, mixing, startModel } = this.parameters
    const before = transcript => round === 1 ? startModel : transcript[round - 2].model
    return mix(k, mixing[round - 1], before(this.record), this.neighbours.map(u => before(this.transcripts.get(u))))
  }

  /** What the agent says to all its neighbours; ghat is the lattice gradient of a learning round, or null. */
  send (round, ghat = null) {
    const [phase, number] = this.place(round)
    return phase === LEARNING ? this.learn(round, ghat) : this.current.send(number)
  }

  learn (round, ghat) {
    const { d, k, gradient, modelLimit, gradientLimit } = this.parameters
    let said = null
    if (!this.silent) {
      if (ghat !== null && ghat.length === d) {
        said = update(k, gradient[round - 1], modelLimit, gradientLimit, this.mix(round), ghat)
      }
      if (said === null) { // AR-14
        this.silent = true
        this.alarms.push(alarm('OWN_UPDATE_OUT_OF_RANGE', LEARNING, round, null, `${this.agent}`))
      }
    }
    this.record.push(said === null ? this.zeros : said) // LM-3, LM-4
    return said === null ? null : { kind: 'learning', model: said.model, scaled_gradient: said.scaledGradient }
  }

  /** What goes to single neighbours instead of what `send` gives, as [receiver, message] (CF-6). */
  addressed () {
    return []
  }

  /** Delivers a round; inbox maps senders to messages. */
  receive (round, inbox) {
    const { T } = this.parameters
    const [phase, number] = this.place(round)
    if (phase === LEARNING) {
      for (const sender of this.neighbours) this.hear(round, sender, inbox.get(sender))
      if (number < T) return
      for (const u of this.neighbours) this.alarms.push(...checkNorms(this.parameters, u, this.transcripts.get(u)))
      this.begin()
      return
    }
    this.alarms.push(...this.current.receive(number, inbox))
    const [, length] = this.schedule.find(([name]) => name === phase)
    if (number === length) this.leave(phase, number)
  }

  /** What follows the last round of a phase after LearnModel. */
  leave (phase) {
    if (phase === KEYS) this.beginHashes()
    else if (phase === HASHES) this.beginEstimates()
    else if (phase === GLOBAL) this.beginAgreement()
  }

  /** One learning message: kept, or replaced by zeros with an alarm (LM-3, LM-4, AR-11). */
  hear (round, sender, message) {
    const { d, modelLimit, gradientLimit } = this.parameters
    const isVector = vector => Array.isArray(vector) && vector.length === d && vector.every(isInt64)
    let reason = null
    if (message === undefined || message === null) reason = 'MISSING_MESSAGE'
    else if (message.kind !== 'learning' || !isVector(message.model) || !isVector(message.scaled_gradient)) reason = 'MALFORMED_MESSAGE'
    else if (!inRange(message.model, modelLimit) || !inRange(message.scaled_gradient, gradientLimit)) reason = 'OUT_OF_RANGE'
    if (reason !== null) this.alarms.push(alarm(reason, LEARNING, round, sender))
    this.transcripts.get(sender).push(reason === null
      ? { model: message.model, scaledGradient: message.scaled_gradient }
      : this.zeros)
  }

  broadcast (phase, tags, wellFormed, own) {
    const { neighbours, agent, flooding } = this
    const rounds = this.parameters.n
    this.current = new Broadcast({ phase, rounds, neighbours, tags, wellFormed, agent, own, flood: flooding })
  }

  /** A map from neighbours to what is made of their transcripts. */
  ofTranscripts (make) {
    return new Map(this.neighbours.map(u => [u, make(this.transcripts.get(u))]))
  }

  begin () {
    this.broadcast(KEYS, keyTags(this.parameters.n), isKey(this.parameters.p), new Map([[KEY_SLOT, this.secret]]))
  }

  beginHashes () {
    const { n, p, neighbours } = this.parameters
    this.keys = this.current.held.map(key => key === null ? 0n : key) // LV-4
    const own = this.ofTranscripts(transcript => makeReport(this.parameters, this.keys, transcript))
    this.broadcast(HASHES, edgeTags(neighbours), isReport(p, n), own)
  }

  beginEstimates () {
    const hashes = this.current
    const ownHashes = makeReport(this.parameters, this.keys, this.record)
    this.alarms.push(...checkHashes(this.parameters, this.agent, (reporter, v) => hashes.value(reporter, v), ownHashes))
    const own = this.ofTranscripts(transcript => makeEstimate(this.parameters, transcript))
    this.broadcast(GLOBAL, edgeTags(this.parameters.neighbours), isEstimate(this.parameters), own)
  }

  beginAgreement () {
    const estimates = this.current
    const own = makeEstimate(this.parameters, this.record)
    this.alarms.push(...checkEstimates(this.parameters, this.agent, (reporter, v) => estimates.value(reporter, v), own).alarms)
    this.current = new Agreement(this.neighbours, this.alarms.length > 0)
  }

  /** VA-2. */
  end () {
    const valid = this.alarms.length === 0
    return { valid, model: valid ? this.record[this.record.length - 1].model : null, alarms: this.alarms }
  }
}

module.exports = {
  LEARNING, KEYS, AGREEMENT, KEY_SLOT, alarm, sameValue, tagText, relationRest, statisticAlarms, Agent, Agreement, Broadcast, neighbourhoods, reachable, checkBits, checkStep, sumOfWeights,
  largestIntermediate, defaultLimits, makeParameters, mix, update, inRange, readGradient, roundPolynomial, powersOf, fourHashes, makeReport, isKey, isReport,
  isEstimate, keyTags, checkNorms, checkHashes, makeEstimate, checkEstimates
}
