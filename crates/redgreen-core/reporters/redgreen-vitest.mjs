// Writes what vitest does to $REDGREEN_REPORT, one JSON line per event: a crash loses nothing said before.
//
//     vitest run --includeTaskLocation --reporter=/path/to/redgreen-vitest.mjs
//
// Needs vitest 3 or later. Its reader is redgreen's framework/vitest.rs.

import fs from 'node:fs'

const TEXT_CHARS_MAX = 4000

const ended = new Set()
const stream = fs.openSync(process.env.REDGREEN_REPORT, 'w')
const only = process.env.REDGREEN_ONLY
// Taken away, so that what the tests start does not write here too.
delete process.env.REDGREEN_REPORT
delete process.env.REDGREEN_ONLY

function emit(event) {
  fs.writeSync(stream, JSON.stringify(event) + '\n')
}

function described(error) {
  const [top] = error?.stacks ?? []
  return {
    name: error?.name,
    code: typeof error?.code === 'string' ? error.code : undefined,
    message: String(error?.message ?? error).slice(0, TEXT_CHARS_MAX),
    frame: top && { file: top.file, line: top.line },
  }
}

function place(test) {
  return { file: test.module.moduleId, id: test.fullName, line: test.location?.line }
}

export default class {
  onInit(vitest) {
    emit({ event: 'start', runner: 'vitest', version: vitest.version, root: vitest.config.root })
  }

  onTestModuleCollected(module) {
    const ids = [...module.children.allTests()].map((test) => ({ id: test.fullName, line: test.location?.line }))
    emit({ event: 'collected', file: module.moduleId, ids })
  }

  onTestCaseReady(test) {
    emit({ event: 'test-start', ...place(test) })
  }

  onTestCaseResult(test) {
    const result = test.result()
    const facts = test.diagnostic()
    const leftOut = only !== undefined && test.fullName !== only && result.state === 'skipped'
    emit({
      event: 'result',
      ...place(test),
      outcome: leftOut ? 'excluded' : result.state,
      mode: test.options.mode,
      fails: test.options.fails,
      retries: facts?.retryCount,
      errors: result.errors?.map(described),
      message: result.note,
      ms: facts?.duration,
    })
  }

  onTestSuiteResult(suite) {
    const errors = suite.errors()
    if (errors.length > 0) {
      emit({ event: 'suite-error', file: suite.module.moduleId, id: suite.fullName, errors: errors.map(described) })
    }
  }

  onTestModuleEnd(module) {
    ended.add(module.moduleId)
    emit({ event: 'file-end', file: module.moduleId, state: module.state(), errors: module.errors().map(described) })
  }

  onTestRunEnd(modules, unhandled, reason) {
    // Vitest 3 says nothing of the end of a file that it could not load.
    modules.filter((module) => !ended.has(module.moduleId)).forEach((module) => this.onTestModuleEnd(module))
    emit({ event: 'finish', reason, unhandled: unhandled.map(described) })
  }
}
