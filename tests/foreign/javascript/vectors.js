'use strict'
// Goes through all test vectors (VE-1 to VE-4, VE-7).
// Usage: node vectors.js [--json] [DIR], by default spec/vectors of this checkout.

const fs = require('fs')
const path = require('path')
const {
  Refusal, roundShift, squareRoot, squaredNorm, toLattice, toDouble, power, checkField, checkLength,
  checkKey, Fraction
} = require('./integers')
const protocol = require('./protocol')
const lean = require('./lean')

const FORMAT = 'valid-ref/vectors/2'

/** A case that the harness text allows to leave out. */
class Skip extends Error {}

// --- Reading and writing the numbers of the vectors (VE-3) ---

const int = BigInt
const ints = list => list.map(BigInt)
const digits = list => list.map(String)
const fractions = list => list.map(text => Fraction.of(text))

function readDouble (hex) {
  return Buffer.from(hex, 'hex').readDoubleBE(0)
}

function writeDouble (value) {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.toString('hex')
}

/** Parameters under the names of VA-9: strings and counts become BigInt. */
function readParameters (fields, make = protocol.makeParameters) {
  return make({
    ...fields,
    step_bits: int(fields.step_bits),
    fraction_bits: int(fields.fraction_bits),
    mixing: ints(fields.mixing),
    gradient: ints(fields.gradient),
    max_degree: int(fields.max_degree),
    prime: int(fields.prime),
    model_limit: int(fields.model_limit),
    gradient_limit: int(fields.gradient_limit),
    start_model: ints(fields.start_model),
    bounds: fields.bounds && {
      model_squared: ints(fields.bounds.model_squared),
      gradient_squared: ints(fields.bounds.gradient_squared)
    },
    weightings: fields.weightings.map(weighting => ({
      name: weighting.name,
      weights: ints(weighting.weights),
      optimality: int(weighting.optimality),
      heterogeneity: int(weighting.heterogeneity),
      optimality_low: int(weighting.optimality_low),
      heterogeneity_low: int(weighting.heterogeneity_low)
    }))
  })
}

const readTranscript = rows => rows.map(row => ({ model: ints(row.model), scaledGradient: ints(row.scaled_gradient) }))

/** A value whose form is asked for; what is of another type is a value that the pipe can carry (CF-7). */
function readValue (value) {
  if (value.kind === 'integer') return int(value.value)
  if (value.kind === 'integers') return ints(value.entries)
  return { other: value.text }
}

// --- graph ---

const graph = {
  graph: ({ agents, edges }) => ({ neighbours: protocol.neighbourhoods(agents, edges) }),

  /** AD-5, AD-6, AD-8. */
  assumptions ({ agents, edges, byzantine }) {
    const neighbours = protocol.neighbourhoods(agents, edges)
    const honest = v => !byzantine.includes(v)
    const honestAgents = neighbours.map((_, v) => v).filter(honest)
    const connected = honestAgents.length > 0 &&
      protocol.reachable(neighbours, honestAgents[0], honest).size === honestAgents.length
    const hidden = byzantine.filter(v => !neighbours[v].some(honest))
    return { assumption_1: connected, assumption_1_plus: connected && hidden.length === 0, hidden }
  }
}

// --- parameters ---

const parameters = {
  /** VA-3, VA-9, GV-1. */
  parameters ({ parameters: fields }) {
    const { n, T, weightings } = readParameters(fields)
    return { rounds: T + 4 * n - 1, weight_sums: weightings.map(({ total }) => `${total}`) }
  }
}

// --- lattice ---

const lattice = {
  /** AR-2. */
  'step-size' ({ step_bits: bits, size }) {
    protocol.checkBits(int(bits))
    const step = Fraction.of(size).times(1n << int(bits)).nearest()
    protocol.checkStep(step)
    return { step: `${step}` }
  },

  limits ({ step_bits: bits, mixing, max_degree: degree, prime }) {
    const { modelLimit, gradientLimit } = protocol.defaultLimits(int(bits), ints(mixing), int(degree), int(prime))
    return { model_limit: `${modelLimit}`, gradient_limit: `${gradientLimit}` }
  },

  'range-rule' ({ step_bits: bits, mixing, max_degree: degree, prime, model_limit: model, gradient_limit: gradient }) {
    const largest = protocol.largestIntermediate(int(bits), ints(mixing), int(degree), int(prime), int(model), int(gradient))
    return { largest_intermediate: `${largest}` }
  },

  /** AR-3; magnitudes are below 2^62. */
  'to-lattice' ({ fraction_bits: bits, values }) {
    protocol.checkBits(int(bits))
    const entries = values.map(hex => toLattice(readDouble(hex), int(bits)))
    if (entries.includes(null)) throw new Refusal('AR-3', 'an entry is not finite')
    if (!protocol.inRange(entries, 1n << 62n)) throw new Refusal('AR-3', 'an entry is out of range')
    return { entries: digits(entries) }
  },

  point ({ fraction_bits: f, step_bits: k, Y }) {
    return { values: Y.map(entry => writeDouble(toDouble(int(entry), int(f + k)))) }
  },

  shift: ({ bits, entries }) => ({ entries: entries.map(entry => `${roundShift(int(entry), int(bits))}`) }),

  mix ({ step_bits: bits, a, own, neighbours }) {
    return { Y: digits(protocol.mix(int(bits), int(a), ints(own), neighbours.map(ints))) }
  },

  update ({ step_bits: bits, A, model_limit: model, gradient_limit: gradient, Y, Ghat }) {
    const said = protocol.update(int(bits), int(A), int(model), int(gradient), ints(Y), ints(Ghat))
    if (said === null) return { silent: true }
    return { model: digits(said.model), scaled_gradient: digits(said.scaledGradient) }
  },

  /** AR-6. */
  residual ({ step_bits: bits, a, previous, neighbours, x, Gamma }) {
    const Y = protocol.mix(int(bits), int(a), ints(previous), neighbours.map(ints))
    return { residual: Y.map((y, j) => `${(int(x[j]) << int(bits)) - y + int(Gamma[j])}`) }
  },

  'read-gradient': ({ A, Gamma }) => ({ gradient: digits(protocol.readGradient(int(A), ints(Gamma))) }),
  'squared-norm': ({ entries }) => ({ square: `${squaredNorm(ints(entries))}` }),
  'in-range': ({ entries, limit }) => ({ in_range: protocol.inRange(ints(entries), int(limit)) })
}

// --- hash, transcript-hashes ---

const hash = {
  field ({ prime }) {
    checkField(int(prime))
    return { accepted: true }
  },

  length ({ prime, length }) {
    checkLength(int(prime), int(length))
    return { accepted: true }
  },

  key ({ prime, key }) {
    checkKey(int(prime), int(key))
    return { accepted: true }
  },

  /** HA-3 and the integer form HA-4. */
  hash ({ prime, key, vector }) {
    const p = int(prime)
    const form = ints(vector).reduce((sum, entry, i) => sum + entry * power(int(key), int(i), p), 0n)
    return { hash: `${hashOf(p, int(key), ints(vector))}`, integer_form: `${form}` }
  },

  'colliding-keys' ({ prime, vector }) {
    const keys = []
    for (let key = 0n; key < int(prime); key++) if (hashOf(int(prime), key, ints(vector)) === 0n) keys.push(`${key}`)
    return { keys }
  },

  /** HA-8. */
  'collision-bound': ({ prime, length, keys }) => ({ bound: `${new Fraction(int(length) - 1n, int(prime)).raised(keys)}` })
}

const hashOf = (p, key, vector) => protocol.roundPolynomial(protocol.powersOf(key, vector.length, p), vector, p)

const transcriptHashes = {
  'round-polynomials' ({ prime, key, rows }) {
    return { values: rows.map(row => `${hashOf(int(prime), int(key), ints(row))}`) }
  },

  'four-hashes' ({ prime, keys, mixing, start, models, scaled_gradients: gradients }) {
    const transcript = models.map((model, t) => ({ model: ints(model), scaledGradient: ints(gradients[t]) }))
    const hashes = keys.map(key => {
      const four = protocol.fourHashes(int(prime), int(key), ints(mixing), ints(start), transcript)
      const [out, into, intoEta, gamma] = digits(four)
      return { key, out, into, into_eta: intoEta, gamma }
    })
    return { hashes }
  }
}

// --- local-checks, global-checks ---

/** A function of reporter and agent that gives the entry of a list, or null. */
function holder (list, field) {
  const held = new Map(list.map(item => [`${item.reporter},${item.agent}`, ints(item[field])]))
  return (reporter, agent) => held.get(`${reporter},${agent}`) || null
}

const localChecks = {
  'key-form': ({ prime, value }) => ({ well_formed: protocol.isKey(int(prime))(readValue(value)) }),
  'report-form': ({ prime, agents, value }) => ({ well_formed: protocol.isReport(int(prime), agents)(readValue(value)) }),

  norms ({ parameters, sender, transcript }) {
    return { alarms: protocol.checkNorms(readParameters(parameters), sender, readTranscript(transcript)) }
  },

  report ({ parameters, keys, transcript }) {
    return { hashes: digits(protocol.makeReport(readParameters(parameters), ints(keys), readTranscript(transcript))) }
  },

  hashes ({ parameters, agent, reports, own }) {
    skipPrinted(parameters.without, ['P07', 'P08'])
    const held = holder(reports, 'hashes')
    return { alarms: protocol.checkHashes(readParameters(parameters), agent, held, ints(own), parameters.without) }
  }
}

const globalChecks = {
  /** GV-1. */
  'exponential-weights' ({ rounds, gamma, bits }) {
    const base = Fraction.of(gamma)
    if (base.compare(0) < 0 || base.compare(1) > 0) throw new Refusal('GV-1', `gamma = ${gamma} is not in 0..1`)
    if (int(bits) > 60n) throw new Refusal('GV-1', `${bits} bits of a weight are not in 0..60`)
    const weight = t => base.raised(rounds - t).times(1n << int(bits)).nearest()
    return { weights: Array.from({ length: rounds }, (_, i) => `${weight(i + 1)}`) }
  },

  'polynomial-weights': ({ rounds, power: c }) => ({ weights: Array.from({ length: rounds }, (_, i) => `${int(i + 1) ** int(c)}`) }),

  /** GV-5, GV-6, GV-7. */
  thresholds ({ weights, agents, fraction_bits: f, eps_opt: eps, delta_plus_eps_het: level }) {
    for (const tolerance of [eps, level]) {
      if (Fraction.of(tolerance).compare(0) <= 0) throw new Refusal('GV-7', `the tolerance ${tolerance} is not positive`)
    }
    const scaled = protocol.sumOfWeights(ints(weights)) << int(f)
    const optimality = Fraction.of(eps).times(int(agents) * scaled).up()
    const heterogeneity = Fraction.of(level).times(int(agents) * scaled * scaled).up()
    return { optimality: `${optimality}`, heterogeneity: `${heterogeneity}` }
  },

  estimate ({ parameters, transcript }) {
    skipPrinted(parameters.without)
    return { estimate: digits(protocol.makeEstimate(readParameters(parameters), readTranscript(transcript))) }
  },

  'estimate-form' ({ parameters, value }) {
    skipPrinted(parameters.without)
    return { well_formed: protocol.isEstimate(readParameters(parameters))(readValue(value)) }
  },

  estimates ({ parameters, agent, estimates, own }) {
    skipPrinted(parameters.without)
    const { alarms, statistics } = protocol.checkEstimates(readParameters(parameters), agent, holder(estimates, 'entries'), ints(own))
    return {
      alarms,
      statistics: statistics && statistics.map(({ optimality, heterogeneity }) =>
        ({ optimality: `${optimality}`, heterogeneity: `${heterogeneity}` }))
    }
  }
}

// --- bounds (GU-8) ---

const larger = (a, b) => a.compare(b) >= 0 ? a : b

/** The least integer m >= 0 with m^2 >= value. */
function rootAbove (value) {
  const least = Fraction.of(value).up()
  if (least <= 0n) return 0n
  const root = squareRoot(least)
  return root * root === least ? root : root + 1n
}

const bounds = {
  root: ({ value }) => ({ root: `${rootAbove(value)}` }),

  derive (input) {
    const { dimension, fraction_bits: f, step_bits: k } = input
    const refuse = text => { throw new Refusal('GU-8', text) }
    if (input.F0 === null) refuse('F0 is infinite')
    const [mu, beta, F0] = fractions([input.mu, input.beta, input.F0])
    if (mu.compare(0) <= 0 || mu.compare(beta) > 0 || F0.compare(0) < 0) refuse('0 < mu <= beta and 0 <= F0 do not hold')
    if (ints(input.mixing).some(a => a * int(input.max_degree) > 1n << int(k))) refuse('a_t maxdeg is above 2^k')
    const tau = new Fraction(1n, 2n)
    const half = new Fraction(1n, 2n)
    const units = 1n << int(2 * f)
    const G0 = rootAbove(beta.times(F0).times(2n * units))
    let B = rootAbove(int(input.start_squared))
    const models = []
    const gradients = []
    for (const A of ints(input.gradient)) {
      const alpha = new Fraction(A, 1n << int(k))
      const contraction = rate => new Fraction(1n).minus(alpha.times(rate))
      const q = larger(contraction(mu).absolute(), contraction(beta).absolute())
      const slack = rootAbove(alpha.times(half.plus(tau)).plus(half).raised(2).times(dimension))
      const readOff = rootAbove(new Fraction(1n << int(k), 2n * A).plus(new Fraction(3n, 2n)).plus(tau).raised(2).times(dimension))
      const C = G0 + beta.times(B).up() + readOff
      let next = q.times(B).plus(alpha.times(G0)).up()
      if (alpha.times(beta).compare(1) <= 0) {
        const other = rootAbove(contraction(mu).times(B * B).plus(alpha.times(F0).times(2n * units)))
        if (other < next) next = other
      }
      B = next + slack
      models.push(`${B * B}`)
      gradients.push(`${C * C}`)
    }
    return { model_squared: models, gradient_squared: gradients }
  },

  configure ({ fraction_bits: f, rounds, model, gradient }) {
    const squares = bound => {
      if (Fraction.of(bound).compare(0) <= 0) throw new Refusal('LV-2', `the bound ${bound} is not positive`)
      const units = Fraction.of(bound).times(1n << int(f)).up()
      return new Array(rounds).fill(`${units * units}`)
    }
    return { model_squared: squares(model), gradient_squared: squares(gradient) }
  },

  conflicts (input) {
    const models = [input.start_squared, ...input.model_squared].map(square => rootAbove(int(square)))
    const gradients = input.gradient_squared.map((square, t) => int(input.gradient[t]) * rootAbove(int(square)))
    const reach = (values, limit) => values.filter(value => value >= int(limit)).length
    return { conflicts: reach(models, input.model_limit) + reach(gradients, input.gradient_limit) }
  }
}

// --- admissible (GU-1 to GU-6) ---

const sum = list => list.reduce((a, b) => a.plus(b), new Fraction(0n))
const squaredLength = vector => sum(vector.map(entry => entry.times(entry)))
const sumVectors = (vectors, d) => Array.from({ length: d }, (_, j) => sum(vectors.map(vector => vector[j])))

/** The losses, those of U, and b, the number of the others. */
function readLosses ({ losses, agents }) {
  const all = losses.map(({ hessian, centre }) => ({ hessian: fractions(hessian), centre: fractions(centre) }))
  if (agents === undefined) return { all }
  if (agents.length === 0) throw new Refusal('GU-2', 'U is empty')
  for (const v of agents) if (!(v >= 0 && v < all.length)) throw new Refusal('GU-2', `there is no agent ${v}`)
  return { all, chosen: agents.map(v => all[v]), others: all.length - agents.length, d: all[0].centre.length }
}

const gradientAt = ({ hessian, centre }, point) => hessian.map((h, j) => h.times(point[j].minus(centre[j])))

/** s(x), and the sum of the squared gradients of U. */
function statisticsAt (chosen, d, point) {
  const gradients = chosen.map(loss => gradientAt(loss, point))
  return { s: sumVectors(gradients, d), squares: sum(gradients.map(squaredLength)) }
}

function ellipsoidOf (input) {
  const { all, chosen, others, d } = readLosses(input)
  const matrix = []
  const centre = []
  for (let j = 0; j < d; j++) {
    const h = chosen.map(loss => loss.hessian[j])
    const c = chosen.map(loss => loss.centre[j])
    const q = sum(h.map(x => x.times(x))).plus(sum(h).times(sum(h)).over(others))
    const weighted = sum(h.map((x, i) => x.times(x).times(c[i])))
      .plus(sum(h).times(sum(h.map((x, i) => x.times(c[i])))).over(others))
    matrix.push(q)
    centre.push(weighted.over(q))
  }
  const { s, squares } = statisticsAt(chosen, d, centre)
  const phi = squares.plus(squaredLength(s).over(others))
  return { matrix, centre, level: Fraction.of(input.delta).times(all.length).minus(phi) }
}

const admissible = {
  heterogeneity (input) {
    const { all } = readLosses(input)
    const d = all[0].centre.length
    const minimiser = Array.from({ length: d }, (_, j) =>
      sum(all.map(loss => loss.hessian[j].times(loss.centre[j]))).over(sum(all.map(loss => loss.hessian[j]))))
    return { delta: `${sum(all.map(loss => squaredLength(gradientAt(loss, minimiser)))).over(all.length)}` }
  },

  phi (input) {
    const { chosen, others, d } = readLosses(input)
    const { s, squares } = statisticsAt(chosen, d, fractions(input.point))
    if (others === 0) return { phi: squaredLength(s).compare(0) === 0 ? `${squares}` : null, vectors: [] }
    const vector = s.map(entry => `${entry.over(-others)}`)
    return { phi: `${squares.plus(squaredLength(s).over(others))}`, vectors: new Array(others).fill(vector) }
  },

  /** GU-4, without a square root: (|s| - c)^2 <= r if and only if |s|^2 + c^2 - r <= 2 c |s|. */
  member (input) {
    const { all, chosen, others, d } = readLosses(input)
    const { s, squares } = statisticsAt(chosen, d, fractions(input.point))
    const square = squaredLength(s)
    const free = Fraction.of(input.e1).times(all.length)
    const room = Fraction.of(input.e2).times(all.length).minus(squares)
    if (room.compare(0) < 0) return { member: false }
    if (square.compare(free.times(free)) <= 0) return { member: true }
    if (others === 0) return { member: false }
    const left = square.plus(free.times(free)).minus(room.times(others))
    return { member: left.compare(0) <= 0 || left.times(left).compare(free.times(free).times(square).times(4)) <= 0 }
  },

  ellipsoid (input) {
    const { matrix, centre, level } = ellipsoidOf(input)
    return { matrix: digits(matrix), centre: digits(centre), level: `${level}` }
  },

  /** In floating point; the result is compared within 2^-40 (1 + |value|). */
  distance (input) {
    const { matrix, centre, level } = ellipsoidOf(input)
    if (level.compare(0) < 0) return { distance: null }
    const radius = Math.sqrt(level.over(matrix[0]).toNumber())
    const away = Math.sqrt(squaredLength(fractions(input.point).map((x, j) => x.minus(centre[j]))).toNumber())
    return { distance: Math.max(away - radius, 0) }
  }
}

// --- Networks: broadcast, agreement, whole runs ---

/** The table in which values of a phase and a slot stand. */
function tableOf (phase, slot) {
  return phase === 'GlobalValidate' || slot === lean.SUM || slot === lean.TOTAL ? 'estimates' : 'reports'
}

/** The message of a Byzantine agent in the form of CF-7. */
function readMessage (message, phase, tables) {
  if (message === null || message.kind === 'flag' || message.kind === 'other') return message
  if (message.kind === 'digest') return { kind: 'digest', value: int(message.value) }
  if (message.kind === 'learning') {
    return { kind: 'learning', model: ints(message.model), scaled_gradient: ints(message.scaled_gradient) }
  }
  const entries = [
    ...message.keys.map(([source, key]) => [source, protocol.KEY_SLOT, int(key)]),
    ...message.rows.map(([source, slot, row]) => [source, slot, ints(tables[tableOf(phase, slot)][row])]),
    ...message.nulls.map(([source, slot]) => [source, slot, null]),
    ...message.malformed.map(([source, slot]) => [source, slot, { other: 'malformed' }])
  ]
  if (message.unknown_tags) entries.push([-1, -1, 0n])
  return { kind: 'entries', entries: entries.map(([source, slot, value]) => [int(source), int(slot), value]) }
}

/** What an honest agent says, in the form of the vectors; a value that is in no table has the row -1. */
function writeMessage (message, phase, rowsOf) {
  if (message === null || message.kind === 'flag') return message
  if (message.kind === 'digest') return { kind: 'digest', value: `${message.value}` }
  if (message.kind === 'learning') {
    return { kind: 'learning', model: digits(message.model), scaled_gradient: digits(message.scaled_gradient) }
  }
  const keys = []
  const rows = []
  for (const [source, slot, value] of message.entries) {
    if (slot === protocol.KEY_SLOT) keys.push([source, `${value}`])
    else rows.push([source, slot, rowsOf(tableOf(phase, slot), value)])
  }
  return { kind: 'entries', keys, rows, nulls: [], malformed: [], unknown_tags: false }
}

/** A message as the next agent reads it: tags are BigInt there. */
function delivered (message) {
  if (message === null || message.kind !== 'entries') return message
  return { kind: 'entries', entries: message.entries.map(([source, slot, value]) => [int(source), int(slot), value]) }
}

/**
 * Plays a network. `schedule` has [phase, rounds]; `honest` maps agents to `send(round)`, `receive(round, inbox)` with
 * rounds counted through all phases, and may have `addressed(round)`, [receiver, message] in place of what is sent. Gives
 * what honest agents said to all, and to whom they said something else.
 */
function play ({ schedule, neighbours, honest, words, tables }) {
  const byzantine = new Map()
  for (const { phase, round, sender, receivers, message } of words) {
    for (const receiver of receivers) byzantine.set(`${phase} ${round} ${sender} ${receiver}`, readMessage(message, phase, tables))
  }
  const rowNumbers = new Map()
  for (const name of tables ? ['reports', 'estimates'] : []) {
    tables[name].forEach((value, row) => rowNumbers.set(`${name} ${value}`, row))
  }
  const rowsOf = (name, value) => rowNumbers.has(`${name} ${value}`) ? rowNumbers.get(`${name} ${value}`) : -1
  const said = []
  const addressed = []
  let total = 0
  for (const [phase, rounds] of schedule) {
    for (let round = 1; round <= rounds; round++) {
      total++
      const messages = new Map()
      for (const [agent, machine] of honest) {
        const message = machine.send(total)
        messages.set(agent, delivered(message))
        said.push({ phase, round, agent, message: writeMessage(message, phase, rowsOf) })
        for (const [receiver, apart] of machine.addressed ? machine.addressed(total) : []) {
          messages.set(`${agent} ${receiver}`, delivered(apart))
          const word = writeMessage(apart, phase, rowsOf)
          addressed.push({ phase, round, sender: agent, receivers: [receiver], message: word })
        }
      }
      for (const [agent, machine] of honest) {
        machine.receive(total, new Map(neighbours[agent].map(sender => [
          sender,
          messages.has(`${sender} ${agent}`) ? messages.get(`${sender} ${agent}`) : messages.has(sender) ? messages.get(sender) : byzantine.get(`${phase} ${round} ${sender} ${agent}`)
        ])))
      }
    }
  }
  return { said, addressed }
}

const honestAgents = (agents, byzantine) => Array.from({ length: agents }, (_, v) => v).filter(v => !byzantine.includes(v))

function skipPrinted (without, known = []) {
  const missing = without.filter(switchName => !known.includes(switchName))
  if (missing.length > 0) throw new Skip(`shows the printed text (${missing.join(', ')}); there is no such switch here`)
}

const broadcast = {
  /** VB-1 to VB-9; P22 turned off is sending all held values in every flood round (VB-4). */
  keys ({ agents, edges, prime, keys, byzantine, words, without }) {
    skipPrinted(without, ['P22'])
    const neighbours = protocol.neighbourhoods(agents, edges)
    const ownKeys = new Map(keys.map(([agent, key]) => [agent, int(key)]))
    const raised = new Map()
    const machines = new Map()
    const honest = new Map()
    for (const agent of honestAgents(agents, byzantine)) {
      const machine = new protocol.Broadcast({
        phase: protocol.KEYS,
        rounds: agents,
        neighbours: neighbours[agent],
        tags: protocol.keyTags(agents),
        wellFormed: protocol.isKey(int(prime)),
        agent,
        own: new Map([[protocol.KEY_SLOT, ownKeys.get(agent)]]),
        flood: without.includes('P22') ? 'held' : 'fresh'
      })
      machines.set(agent, machine)
      raised.set(agent, [])
      honest.set(agent, {
        send: round => machine.send(round),
        receive: (round, inbox) => raised.get(agent).push(...machine.receive(round, inbox))
      })
    }
    const { said } = play({ schedule: [[protocol.KEYS, agents]], neighbours, honest, words })
    const ends = [...machines].map(([agent, machine]) => ({
      agent,
      held: machine.held.flatMap((key, source) => key === null ? [] : [[source, `${key}`]]),
      alarms: raised.get(agent)
    }))
    return { said, ends }
  }
}

const agreement = {
  states ({ agents, edges, alarmed, byzantine, words, without }) {
    skipPrinted(without)
    const neighbours = protocol.neighbourhoods(agents, edges)
    const raised = new Map()
    const machines = new Map()
    const honest = new Map()
    for (const agent of honestAgents(agents, byzantine)) {
      const machine = new protocol.Agreement(neighbours[agent], alarmed.includes(agent))
      machines.set(agent, machine)
      raised.set(agent, [])
      honest.set(agent, {
        send: () => machine.send(),
        receive: (round, inbox) => raised.get(agent).push(...machine.receive(round, inbox))
      })
    }
    const { said } = play({ schedule: [[protocol.AGREEMENT, agents - 1]], neighbours, honest, words })
    const ends = [...machines].map(([agent, machine]) => ({ agent, alarmed: machine.alarmed, alarms: raised.get(agent) }))
    return { said, ends }
  }
}

/** A whole run; `agentOf(v)` makes an agent (VE-7). */
function playRun ({ n, T, neighbours }, { byzantine, gradients, tables, words }, agentOf) {
  const agents = new Map()
  const honest = new Map()
  for (const v of honestAgents(n, byzantine)) {
    const agent = agentOf(v)
    const ghat = round => round > T || gradients[round - 1][v] === null ? null : ints(gradients[round - 1][v])
    agents.set(v, agent)
    honest.set(v, {
      send: round => agent.send(round, ghat(round)),
      addressed: round => agent.addressed(round),
      receive: (round, inbox) => agent.receive(round, inbox)
    })
  }
  const { schedule } = agents.values().next().value
  const { said, addressed } = play({ schedule, neighbours, honest, words, tables })
  const ends = [...agents].map(([v, agent]) => {
    const { valid, model, alarms } = agent.end()
    return { agent: v, valid, model: model && digits(model), alarms }
  })
  return { said, addressed, ends }
}

const runs = {
  run ({ parameters: fields, keys, ...input }) {
    skipPrinted(fields.without)
    const parameters = readParameters(fields)
    const { said, ends } = playRun(parameters, input, v => new protocol.Agent(parameters, v, int(keys[v]), 'fresh'))
    return { said, ends }
  }
}

// --- Lean validation ---

const readLean = fields => readParameters(fields, lean.makeLeanParameters)
const heldOf = list => list.map(value => value === null ? null : ints(value))
const nameOf = run => Buffer.from(run, 'hex')

const leanPieces = {
  /** LE-2, LE-8. */
  routes ({ agents, edges }) {
    const { diameter, root, height, parent, sizes, up, down } = lean.makeRoutes(protocol.neighbourhoods(agents, edges))
    const others = parent.map((_, v) => v).filter(v => v !== root)
    return { diameter, root, height, parents: parent, sizes, up: others.map(up), down: others.map(down) }
  },

  commitment: ({ run, agent, nonce, shares }) =>
    ({ commitment: `${lean.commitment(nameOf(run), agent, ints([nonce, ...shares]))}` }),

  digest ({ run, fixed, openings, reports }) {
    const held = { [lean.FIXED]: heldOf(fixed), [lean.OPENING]: heldOf(openings), [lean.REPORT]: heldOf(reports) }
    return { digest: `${lean.digestOf(nameOf(run), fixed.length, (v, slot) => held[slot][v])}` }
  },

  'common-keys': ({ prime, openings }) => ({ keys: digits(lean.commonKeys(int(prime), heldOf(openings))) }),

  'own-words' ({ parameters, keys, transcript }) {
    const { numbers, estimate, report } = lean.ownWords(readLean(parameters), ints(keys), readTranscript(transcript))
    return { numbers: digits(numbers), estimate: digits(estimate), report: digits(report) }
  },

  'lean-parameters' ({ parameters: fields }) {
    const parameters = readLean(fields)
    const rounds = lean.leanSchedule(parameters).reduce((sum, [, length]) => sum + length, 0)
    const limits = lean.limitsOf(parameters)
    return { rounds, limits: digits([lean.FIXED, lean.OPENING, lean.REPORT].flatMap(slot => limits[slot])) }
  }
}

const leanRuns = {
  'lean-run' ({ parameters: fields, openings, ...input }) {
    skipPrinted(fields.without)
    const parameters = readLean(fields)
    return playRun(parameters, input, v => new lean.LeanAgent(parameters, v, ints(openings[v]), 'fresh'))
  }
}

// --- The harness ---

const FAMILIES = {
  graph,
  parameters,
  lattice,
  hash,
  'transcript-hashes': transcriptHashes,
  broadcast,
  agreement,
  'local-checks': localChecks,
  'global-checks': globalChecks,
  bounds,
  admissible,
  'runs-honest': runs,
  'runs-attacks': runs,
  'runs-errata': runs,
  lean: leanPieces,
  'runs-lean': leanRuns
}

/** Equality field by field; where a result is a double, within 2^-40 (1 + |value|) of a rational. */
function equal (found, expected, ofRationals) {
  if (ofRationals && typeof found === 'number' && typeof expected === 'string') {
    const value = Fraction.of(expected).toNumber()
    return Math.abs(found - value) <= 2 ** -40 * (1 + Math.abs(value))
  }
  if (found === null || expected === null || typeof found !== 'object' || typeof expected !== 'object') return found === expected
  if (Array.isArray(found) !== Array.isArray(expected)) return false
  const names = Object.keys(expected)
  return Object.keys(found).length === names.length &&
    names.every(name => Object.hasOwn(found, name) && equal(found[name], expected[name], ofRationals))
}

/** The first place where two results differ: path, expected, found. */
function difference (found, expected, place = '') {
  if (found && expected && typeof found === 'object' && typeof expected === 'object') {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      if (!equal(found[name], expected[name], false)) return difference(found[name], expected[name], `${place}/${name}`)
    }
  }
  const text = value => value === undefined ? 'nothing' : JSON.stringify(value)
  return `${place || '/'}: expected ${text(expected)}, found ${text(found)}`
}

/** Null if the case passes, a text if it fails; a Skip is thrown through. */
function examine (family, testCase) {
  if (!Object.hasOwn(FAMILIES[family], testCase.operation)) return `the operation ${testCase.operation} is unknown`
  const operation = FAMILIES[family][testCase.operation]
  let found
  try {
    found = operation(testCase.input)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.clause === testCase.refused) return null
    const expected = testCase.refused === undefined ? JSON.stringify(testCase.expected) : `refused by ${testCase.refused}`
    return `expected ${expected}, found a refusal by ${error.message}`
  }
  if (testCase.refused !== undefined) return `expected refused by ${testCase.refused}, found ${JSON.stringify(found)}`
  return equal(found, testCase.expected, family === 'admissible') ? null : difference(found, testCase.expected)
}

/** Ends the test: the files are not those of the vectors. */
function stop (text) {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}

function main () {
  const options = process.argv.slice(2)
  const asJson = options.includes('--json')
  const rest = options.filter(option => option !== '--json')
  if (rest.length > 1 || rest.some(option => option.startsWith('-'))) {
    stop('usage: node vectors.js [--json] [DIR]')
  }
  const directory = rest[0] || path.join(__dirname, '..', '..', '..', 'spec', 'vectors')
  const files = fs.readdirSync(directory).filter(name => name.endsWith('.json') && !name.endsWith('.schema.json')).sort()
  let passed = 0
  const failed = []
  const skipped = []
  const lines = []
  const missing = Object.keys(FAMILIES).filter(family => !files.includes(`${family}.json`))
  if (missing.length > 0) stop(`${directory} has no ${missing.join(', ')}`)
  for (const name of files) {
    const { format, family, cases } = JSON.parse(fs.readFileSync(path.join(directory, name), 'utf8'))
    if (format !== FORMAT) stop(`${name} has the format ${format}, not ${FORMAT}`)
    if (!Object.hasOwn(FAMILIES, family)) {
      skipped.push(...cases.map(testCase => testCase.id))
      lines.push(`not run ${name} the family ${family} is unknown: ${cases.length} cases`)
      continue
    }
    for (const testCase of cases) {
      try {
        const failure = examine(family, testCase)
        if (failure === null) passed++
        else {
          failed.push(testCase.id)
          lines.push(`failed ${testCase.id} ${failure}`)
        }
      } catch (error) {
        if (!(error instanceof Skip)) throw error
        skipped.push(testCase.id)
        lines.push(`skipped ${testCase.id} ${error.message}`)
      }
    }
  }
  lines.push(`${passed} passed, ${failed.length} failed, ${skipped.length} skipped`)
  process.stdout.write((asJson ? JSON.stringify({ passed, failed, skipped }) : lines.join('\n')) + '\n')
  process.exitCode = failed.length > 0 ? 1 : 0
}

main()
