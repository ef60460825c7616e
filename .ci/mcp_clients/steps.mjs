// What both TypeScript clients do in the same way: read the scenario, run its
// steps in order, print one JSON line for each.

const saved = {};
let answer; // the form content or refusal for the step that is running

export function emit(line) {
  process.stdout.write(JSON.stringify(line) + '\n');
}

export function describe(error) {
  return {
    type: error.name,
    code: error.code,
    message: error.message,
    data: error.data,
  };
}

export async function readScenario() {
  let text = '';
  for await (const chunk of process.stdin) text += chunk;
  return JSON.parse(text);
}

// "${planned.structuredContent.plan}" stands for a value of an earlier result.
function fill(value) {
  if (typeof value === 'string') {
    const match = /^\$\{(.+)\}$/.exec(value);
    if (!match) return value;
    return match[1].split('.').reduce((object, key) => object?.[key], saved);
  }
  if (Array.isArray(value)) return value.map(fill);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v)]));
  }
  return value;
}

export const elicitations = [];

export function answerForm(params) {
  elicitations.push(params);
  return answer ?? { action: 'decline' };
}

function perform(client, step, options) {
  switch (step.op) {
    case 'list_tools':
      return client.listTools(undefined, options);
    case 'list_prompts':
      return client.listPrompts(undefined, options);
    case 'get_prompt':
      return client.getPrompt({ name: step.name, arguments: fill(step.arguments) }, options);
    case 'call_tool':
      return client.callTool({ name: step.name, arguments: fill(step.arguments ?? {}) }, options);
    default:
      throw new Error(`unknown step: ${step.op}`);
  }
}

async function run(client, step, index) {
  const line = { step: index, op: step.op, name: step.name ?? step.uri };
  try {
    line.result =
      step.op === 'parallel'
        ? await Promise.all(step.calls.map((call, i) => run(client, call, i)))
        : await perform(client, step, { timeout: 30000 });
    if (step.save) saved[step.save] = line.result;
  } catch (error) {
    line.error = describe(error);
  }
  return line;
}

export async function runScenario(client, connect, scenario) {
  client.onerror = (error) => emit({ op: 'onerror', error: describe(error) });
  try {
    const result = await connect();
    emit({ op: 'connect', result });
  } catch (error) {
    emit({ op: 'connect', error: describe(error) });
    await client.close();
    return;
  }
  for (const [index, step] of scenario.steps.entries()) {
    answer = step.answer;
    elicitations.length = 0;
    const line = await run(client, step, index);
    if (elicitations.length) line.elicitations = [...elicitations];
    emit(line);
  }
  await client.close();
  emit({ op: 'close' });
}
