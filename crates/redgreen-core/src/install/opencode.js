// Written by `redgreen init --with opencode`: asks redgreen before an edit, after a tool, and when the agent is done, and
// offers its MCP server.
import { spawn } from "node:child_process"

const ask = (message) =>
  new Promise((resolve) => {
    const child = spawn("redgreen", ["hook", "opencode"], { cwd: message.cwd, stdio: ["pipe", "pipe", "pipe"] })
    let said = "", complaint = ""
    child.stdout.on("data", (part) => (said += part))
    child.stderr.on("data", (part) => (complaint += part))
    child.on("error", (error) => resolve({ decision: "deny", reason: `redgreen could not be started: ${error.message}` }))
    child.stdin.on("error", () => {})
    child.on("close", (code) => {
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve({ decision: code === 0 ? "allow" : "deny", reason: complaint })
      }
    })
    child.stdin.end(JSON.stringify(message))
  })

export const Redgreen = async ({ client, directory }) => ({
  config: async (config) => {
    config.mcp = { redgreen: { type: "local", command: ["redgreen", "mcp"], enabled: true }, ...config.mcp }
  },
  "tool.execute.before": async (input, output) => {
    const message = { event: "tool.execute.before", tool: input.tool, args: output.args, cwd: directory }
    const answer = await ask(message)
    if (answer.decision === "deny") throw new Error(answer.reason)
  },
  "tool.execute.after": async (input, output) => {
    const message = { event: "tool.execute.after", tool: input.tool, args: input.args ?? {}, cwd: directory }
    const answer = await ask(message)
    if (answer.decision === "tell") output.output = `${output.output}\n\n${answer.reason}`
  },
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    const answer = await ask({ event: "session.idle", cwd: directory })
    if (answer.decision !== "continue") return
    await client.session.promptAsync({
      path: { id: event.properties.sessionID },
      body: { parts: [{ type: "text", text: answer.reason }] },
    })
  },
})
