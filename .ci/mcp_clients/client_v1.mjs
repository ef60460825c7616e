// Runs a scenario with the official TypeScript SDK 1.x.
// Usage: node client_v1.mjs SERVER [ARGUMENT...] < scenario.json

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answerForm, capabilities, emit, runScenario, scenario } from './steps.mjs';

const [command, ...args] = process.argv.slice(2);

if (!scenario.era.startsWith('2025-')) {
  emit({ op: 'connect', skipped: `SDK 1.x cannot speak ${scenario.era}` });
  process.exit(0);
}

const client = new Client({ name: 'mcp-kit-v1', version: '1.0.0' }, { capabilities });
if (scenario.elicitation) client.setRequestHandler(ElicitRequestSchema, answerForm);

// In SDK 1.x a result schema stands between the parameters and the options.
const callTool = client.callTool.bind(client);
client.callTool = (params, options) => callTool(params, undefined, options);

const transport = new StdioClientTransport({ command, args, env: process.env });

// SDK 1.x always offers its newest version. An older offer has to be written
// into the message on its way out.
const send = transport.send.bind(transport);
transport.send = (message) => {
  if (message.method !== 'initialize') return send(message);
  return send({ ...message, params: { ...message.params, protocolVersion: scenario.era } });
};

await runScenario(client, transport);
