"""Every attribute, event, metric and environment name that goes in or out, once.

`gen_ai.*` and `error.type` are the GenAI semantic conventions' own names, kept as literals because the
constants of the semantic-conventions package moved; everything else is `attest.*`.
"""

from __future__ import annotations

from typing import Final

# Instrumentation scopes. What RECORD_SCOPE makes is graded; what the other two make never is.
RECORD_SCOPE: Final = "attest_otel.record"
EVALUATION_SCOPE: Final = "attest_otel.evaluation"
JUDGE_SCOPE: Final = "attest_otel.judge"

# Environment.
CONFIG_ENV: Final = "ATTEST_CONFIG"
JUDGE_MODEL_ENV: Final = "ATTEST_JUDGE_MODEL"
CAPTURE_ENV: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

# GenAI conventions: spans.
OPERATION_NAME: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
PROVIDER_NAME: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
ERROR_TYPE: Final = "error.type"

INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
CHAT: Final = "chat"

# Our recorder's own: agent spans.
RUN_ID: Final = "attest.run_id"
CASE_ID: Final = "attest.case_id"
TOOLS: Final = "attest.tools"
ALLOWED_TOOLS: Final = "attest.allowed_tools"
TOOL_FALLBACKS: Final = "attest.tool_fallbacks"
ARTIFACTS: Final = "attest.artifacts"
REQUESTED_NOT_RUN: Final = "attest.requested_not_run"

# Our recorder's own: tool spans.
ARGUMENTS_RECEIVED: Final = "attest.tool.call.arguments_received"
TURN: Final = "attest.tool.call.turn"
IS_ERROR: Final = "attest.tool.call.is_error"
EXIT_CODE: Final = "attest.tool.call.exit_code"
CALL_ARTIFACTS: Final = "attest.tool.call.artifacts"
RECORDED: Final = "attest.recorded"

# GenAI conventions: evaluation results.
EVALUATION_EVENT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# Evaluation spans and events.
VERDICT: Final = "attest.verdict"
BLOCKING: Final = "attest.blocking"
SCORE_OVERALL: Final = "attest.score.overall"
SCORE_PREFIX: Final = "attest.score."
REVISION: Final = "attest.revision"
INCOMPLETE: Final = "attest.incomplete"
POLICY_HASH: Final = "attest.policy.hash"
VERSION: Final = "attest.version"
SEVERITY: Final = "attest.severity"
DISPOSITION: Final = "attest.disposition"
SUBJECT: Final = "attest.subject"
STEP: Final = "attest.step"
EVIDENCE: Final = "attest.evidence"
FINDING_ID: Final = "attest.finding.id"
SPAN_ID: Final = "attest.span_id"
FINDINGS_TOTAL: Final = "attest.findings.total"
FINDINGS_LEFT_OUT: Final = "attest.findings.left_out"

# Judge spans.
JUDGE_QUESTION: Final = "attest.judge.question"

# Metrics.
METRIC_RUNS: Final = "attest.runs"
METRIC_FINDINGS: Final = "attest.findings"
METRIC_SCORE: Final = "attest.score"
METRIC_SELECTION: Final = "attest.selection"
METRIC_TOOL_CALLS: Final = "attest.tool.calls"
METRIC_LAG: Final = "attest.evaluation.lag"
METRIC_CHECK_DURATION: Final = "attest.check.duration"
METRIC_JUDGE_REQUESTS: Final = "attest.judge.requests"
METRIC_JUDGE_TOKENS: Final = "attest.judge.tokens"
METRIC_FAULTS: Final = "attest.processor.faults"
METRIC_PROCESSOR_RUNS: Final = "attest.processor.runs"
METRIC_QUEUE_SIZE: Final = "attest.processor.queue.size"
METRIC_OPEN_RUNS: Final = "attest.processor.open_runs"
METRIC_BYTES: Final = "attest.processor.bytes"
METRIC_LATE_SPANS: Final = "attest.processor.late_spans"
METRIC_LAST_SUCCESS_AGE: Final = "attest.processor.last_success.age"

# Metric attributes.
CHECK: Final = "attest.check"
FINDING_VERDICT: Final = "attest.finding.verdict"
OUTCOME: Final = "attest.outcome"
PROCESSOR_STATE: Final = "attest.state"
DIRECTION: Final = "attest.direction"

OTHER_TOOL: Final = "_other"
