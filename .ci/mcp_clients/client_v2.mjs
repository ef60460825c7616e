// Runs a scenario with the official TypeScript SDK 2.x.
// Usage: node client_v2.mjs SERVER [ARGUMENT...] < scenario.json

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerForm, readScenario, runScenario } from './steps.mjs';

const scenario = await readScenario();
const [command, ...args] = process.argv.slice(2);

const options = { capabilities: scenario.elicitation ? { elicitation: { form: {} } } : {} };
if (scenario.era === 'auto') {
  options.versionNegotiation = { mode: 'auto' };
} else if (scenario.era.startsWith('2025-')) {
  options.versionNegotiation = { mode: 'legacy' };
  options.supportedProtocolVersions = [scenario.era];
} else {
  options.versionNegotiation = { mode: { pin: scenario.era } };
}

const client = new Client({ name: 'mcp-kit-v2', version: '1.0.0' }, options);
if (scenario.elicitation) {
  client.setRequestHandler('elicitation/create', (request) => answerForm(request.params));
}

await runScenario(
  client,
  async () => {
    await client.connect(new StdioClientTransport({ command, args, env: process.env }));
    return {
      protocolVersion: client.getNegotiatedProtocolVersion(),
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
  scenario,
);
