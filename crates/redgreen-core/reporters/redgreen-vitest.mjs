// Writes the events of vitest to $REDGREEN_REPORT, one JSON line each. A crash loses no earlier
// event.
//
//     vitest run --reporter=/path/to/redgreen-vitest.mjs
//
// Needs vitest 1 or later. framework/vitest.rs reads the output.
//
// Vitest 3 and later report modules, suites and tests. Vitest 1 and 2 report tasks, with hooks that
// vitest 3 still calls. Only vitest 3 and later call onTestRunStart, before any other hook; after
// that, the hooks for tasks do nothing.

import fs from 'node:fs'

const TEXT_CHARS_MAX = 4000

const ended = new Set()
const stream = fs.openSync(process.env.REDGREEN_REPORT, 'w')
const only = process.env.REDGREEN_ONLY
// Programs that the tests start must not write here.
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

// The functions up to the class read the tasks of vitest 1 and 2.

function isTest(task) {
  return task.type === 'test' || task.type === 'custom'
}

function testsOf(task) {
  return isTest(task) ? [task] : (task.tasks ?? []).flatMap(testsOf)
}

function suitesOf(task) {
  const inner = (task.tasks ?? []).filter((one) => !isTest(one))
  return inner.flatMap((one) => [one, ...suitesOf(one)])
}

// Top-level tests belong to a suite without a name, and a file is a suite named by its path.
function nameOf(task) {
  const names = []
  for (let one = task; one && one.filepath === undefined; one = one.suite) {
    if (one.name) names.unshift(one.name)
  }
  return names.join(' > ')
}

function fileOf(task) {
  return task.filepath ?? task.file.filepath
}

// The error of a task has its trace only as text.
function describedTask(error) {
  const [, file, line] = /(?:\(|at )(?:file:\/\/)?(\/[^():\n]+):(\d+):\d+/.exec(error?.stack ?? '') ?? []
  // A syntax error has no class and no code. It comes from the parser.
  const code = /\/parseAst\.js$/.test(file) ? 'PARSE_ERROR' : error?.code
  const stacks = file ? [{ file, line: Number(line) }] : []
  return described({ ...error, message: error?.message ?? error, code, stacks })
}

function placeOfTask(task) {
  return { file: fileOf(task), id: nameOf(task), line: task.location?.line }
}

// A test with retries may fail in between. Its final result is known at the end of its file.
function isFinal(task) {
  return (task.result?.state === 'pass' || task.result?.state === 'fail') && !task.retry && !task.repeats
}

// If a hook of a suite fails, its tests do not run.
function hasBrokenSuite(task) {
  return Boolean(task.suite && (task.suite.result?.errors?.length > 0 || hasBrokenSuite(task.suite)))
}

const OUTCOMES = { pass: 'passed', fail: 'failed' }

export default class {
  #tasks = new Map()
  #told = new Set()
  #hasModules = false

  onInit(vitest) {
    this.vitest = vitest
    // Vitest 1 and 2 have no command line option for it.
    for (const config of [vitest.config, ...(vitest.projects ?? []).map((project) => project.config)]) {
      if (config) config.includeTaskLocation = true
    }
    // If no file matches, vitest 1 and 2 end without calling a hook.
    const { logger, version } = vitest
    if (logger?.printNoTestFound && !(Number.parseInt(version) >= 3)) {
      const print = logger.printNoTestFound.bind(logger)
      logger.printNoTestFound = (...words) => {
        emit({ event: 'finish', unhandled: [] })
        return print(...words)
      }
    }
    emit({ event: 'start', runner: 'vitest', version: vitest.version, root: vitest.config.root })
  }

  onTestRunStart() {
    this.#hasModules = true
  }

  onCollected(files = []) {
    if (this.#hasModules) return
    for (const file of files) {
      const tests = testsOf(file)
      for (const task of [file, ...suitesOf(file), ...tests]) this.#tasks.set(task.id, task)
      const ids = tests.map((task) => ({ id: nameOf(task), line: task.location?.line }))
      if (tests.length > 0) emit({ event: 'collected', file: file.filepath, ids })
    }
  }

  onTaskUpdate(packs) {
    if (this.#hasModules) return
    for (const [id, result] of packs) {
      const task = this.vitest.state.idMap.get(id) ?? this.#tasks.get(id)
      if (!task || !isTest(task)) continue
      if (result?.state === 'run') emit({ event: 'test-start', ...placeOfTask(task) })
      if (isFinal(task)) this.#tell(task)
    }
  }

  onFinished(files = [], unhandled = []) {
    if (this.#hasModules) return
    for (const file of files) {
      testsOf(file).forEach((task) => this.#tell(task))
      for (const suite of suitesOf(file)) {
        const errors = suite.result?.errors ?? []
        if (errors.length > 0) {
          emit({ event: 'suite-error', ...placeOfTask(suite), errors: errors.map(describedTask) })
        }
      }
      const errors = (file.result?.errors ?? []).map(describedTask)
      emit({ event: 'file-end', file: file.filepath, state: file.result?.state, errors })
    }
    emit({ event: 'finish', unhandled: unhandled.map(describedTask) })
  }

  #tell(task) {
    if (this.#told.has(task.id)) return
    const isLeftOut = task.mode !== 'run' || hasBrokenSuite(task)
    const outcome = OUTCOMES[task.result?.state] ?? (isLeftOut ? 'skipped' : undefined)
    // The reader reports collected tests without a result.
    if (outcome === undefined) return
    this.#told.add(task.id)
    const { errors, retryCount, duration } = task.result ?? {}
    const leftOut = only !== undefined && nameOf(task) !== only && outcome === 'skipped'
    emit({
      event: 'result',
      ...placeOfTask(task),
      outcome: leftOut ? 'excluded' : outcome,
      mode: task.mode,
      fails: Boolean(task.fails),
      retries: retryCount,
      errors: errors?.map(describedTask),
      ms: duration,
    })
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
    // Vitest 3 does not report the end of a file that it could not load.
    modules.filter((module) => !ended.has(module.moduleId)).forEach((module) => this.onTestModuleEnd(module))
    emit({ event: 'finish', reason, unhandled: unhandled.map(described) })
  }
}
