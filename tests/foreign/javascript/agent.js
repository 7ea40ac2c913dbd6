'use strict'
// An agent that speaks the conformance protocol (CF-1 to CF-10): requests on standard input, replies on standard output.
// Usage: node agent.js [--flood fresh|held]

const { Refusal, JsonReader, writeJson, toDouble, toLattice } = require('./integers')
const { LeanAgent, makeLeanParameters } = require('./lean')
const { Agent, inRange, makeParameters } = require('./protocol')

const PROTOCOL = 'valid-ref/conformance/2'
const NOT_FINITE = { nan: NaN, inf: Infinity, '-inf': -Infinity }

/** The real number of a gradient, NaN for what is none (CF-3). */
function readReal (value) {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'string' && Object.hasOwn(NOT_FINITE, value) ? NOT_FINITE[value] : NaN
}

/** The lattice gradient (AR-3), or null if there is none: its entries are below 2^62 in magnitude. */
function latticeGradient (gradient, { d, f }) {
  if (!Array.isArray(gradient) || gradient.length !== d) return null
  const entries = gradient.map(value => toLattice(readReal(value), f))
  return entries.includes(null) || !inRange(entries, 1n << 62n) ? null : entries
}

function reported ({ reason, phase, round, sender, about }) {
  return { reason, phase, round, sender, about }
}

class Conversation {
  constructor (flood) {
    this.flood = flood
    this.reader = new JsonReader()
    this.agent = null
    this.reportedAlarms = 0
  }

  /** The reply to a line, as a line. */
  answer (line) {
    let reply
    try {
      reply = this.reply(this.reader.read(line))
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof SyntaxError || error instanceof TypeError)) throw error
      reply = { error: error.message }
    }
    return writeJson(reply) + '\n'
  }

  reply (request) {
    if (request.op === 'hello') return this.hello()
    if (request.op === 'start') return this.start(request)
    if (this.agent === null) throw new Refusal('CF-4', 'no run has begun')
    const round = Number(request.round)
    if (request.op === 'mix') return this.mix(round)
    if (request.op === 'send') return this.send(round, request.gradient)
    if (request.op === 'receive') return this.receive(round, request.inbox)
    if (request.op === 'end') return this.end()
    throw new Refusal('CF-1', 'unknown request')
  }

  /** CF-2. */
  hello () {
    const validations = ['paper', 'lean']
    return { protocol: PROTOCOL, name: 'valid in javascript', flood: this.flood, integers: 'number', validations }
  }

  /** CF-4. */
  start ({ parameters, agent, key, opening }) {
    this.agent = null
    this.reader.forget()
    this.agent = parameters.lean
      ? new LeanAgent(makeLeanParameters(parameters), Number(agent), opening, this.flood)
      : new Agent(makeParameters(parameters), Number(agent), key, this.flood)
    this.reportedAlarms = 0
    return {}
  }

  /** CF-5. */
  mix (round) {
    const { f, k } = this.agent.parameters
    const Y = this.agent.mix(round)
    return { Y, point: Y.map(entry => toDouble(entry, f + k)) }
  }

  /** CF-5, CF-6. */
  send (round, gradient) {
    if (gradient === undefined) {
      const message = this.agent.send(round)
      return { message, addressed: this.agent.addressed(round).map(([receiver, message]) => ({ receiver, message })) }
    }
    const ghat = latticeGradient(gradient, this.agent.parameters)
    return { message: this.agent.send(round, ghat), gradient: ghat }
  }

  /** CF-8. */
  receive (round, inbox) {
    this.agent.receive(round, new Map(inbox.map(({ sender, message }) => [Number(sender), message])))
    const alarms = this.agent.alarms.slice(this.reportedAlarms).map(reported)
    this.reportedAlarms = this.agent.alarms.length
    return { alarms }
  }

  /** CF-10. */
  end () {
    const { valid, model, alarms } = this.agent.end()
    return { valid, model, alarms: alarms.map(reported) }
  }
}

function main () {
  const options = process.argv.slice(2)
  const flood = options.length === 0 ? 'fresh' : options[1]
  if (options.length > 0 && !(options.length === 2 && options[0] === '--flood' && ['fresh', 'held'].includes(flood))) {
    process.stderr.write('usage: node agent.js [--flood fresh|held]\n')
    process.exit(2)
  }
  const conversation = new Conversation(flood)
  let parts = []
  process.stdin.on('data', chunk => {
    let begin = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      parts.push(chunk.subarray(begin, end))
      const line = (parts.length === 1 ? parts[0] : Buffer.concat(parts)).toString('utf8')
      parts = []
      begin = end + 1
      process.stdout.write(conversation.answer(line))
    }
    if (begin < chunk.length) parts.push(chunk.subarray(begin))
  })
}

main()
