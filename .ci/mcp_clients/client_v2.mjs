// Runs a scenario with the official TypeScript SDK 2.x.
// Usage: node client_v2.mjs SERVER [ARGUMENT...] < scenario.json

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerForm, capabilities, runScenario, scenario } from './steps.mjs';

const [command, ...args] = process.argv.slice(2);

const options = { capabilities };
if (scenario.era === 'auto') {
  options.versionNegotiation = { mode: 'auto' };
} else if (scenario.era.startsWith('2025-')) {
  options.versionNegotiation = { mode: 'legacy' };
  options.supportedProtocolVersions = [scenario.era];
} else {
  options.versionNegotiation = { mode: { pin: scenario.era } };
}

const client = new Client({ name: 'mcp-kit-v2', version: '1.0.0' }, options);
if (scenario.elicitation) client.setRequestHandler('elicitation/create', answerForm);

await runScenario(client, new StdioClientTransport({ command, args, env: process.env }));
