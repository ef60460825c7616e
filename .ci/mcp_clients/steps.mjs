// What both TypeScript clients do in the same way: run the steps of the scenario in order, print one
// JSON line for each.

let plan; // the digest of the last plan that a result had
let answer; // the form content or refusal for the step that is running

export const scenario = JSON.parse(await new Response(process.stdin).text());
export const capabilities = scenario.elicitation ? { elicitation: { form: {} } } : {};

export function emit(line) {
  process.stdout.write(JSON.stringify(line) + '\n');
}

export function answerForm() {
  return answer ?? { action: 'decline' };
}

function perform(client, step, options) {
  const words = JSON.parse(JSON.stringify(step.arguments ?? {}).replace('<plan>', plan));
  switch (step.op) {
    case 'list_tools':
      return client.listTools(undefined, options);
    case 'list_prompts':
      return client.listPrompts(undefined, options);
    case 'get_prompt':
      return client.getPrompt({ name: step.name, arguments: words }, options);
    case 'call_tool':
      return client.callTool({ name: step.name, arguments: words }, options);
    case 'parallel':
      return Promise.all(step.calls.map((call, index) => run(client, call, index)));
    default:
      throw new Error(`unknown step: ${step.op}`);
  }
}

async function run(client, step, index) {
  const line = { step: index, op: step.op, name: step.name };
  try {
    line.result = await perform(client, step, { timeout: 30000 });
    plan = line.result.structuredContent?.data?.plan_digest ?? plan;
  } catch (error) {
    line.error = { text: String(error), data: error.data };
  }
  return line;
}

export async function runScenario(client, transport) {
  client.onerror = (error) => emit({ op: 'onerror', error: String(error) });
  try {
    await client.connect(transport);
  } catch (error) {
    emit({ op: 'connect', error: String(error) });
    return client.close();
  }
  for (const [index, step] of scenario.steps.entries()) {
    answer = step.answer;
    emit(await run(client, step, index));
  }
  await client.close();
  emit({ op: 'close' });
}
