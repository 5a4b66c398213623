#!/usr/bin/env bash
# Wraps a program that reads text and writes text, for `cambium worker --exec 'wrap.sh PROGRAM ARGUMENT…'`.
# The task's JSON becomes a command line: `config.args` are further arguments, and the texts of the task (of its item, else
# of its inputs, else of the run's input) are the standard input, one a line. What the program writes becomes
# {"lines": […]}. Its exit code and its standard error are passed on: they fail the task. Needs jq.
set -euo pipefail

task=$(cat)
mapfile -t arguments < <(jq --raw-output '.config.args // [] | .[]' <<<"$task")
jq --raw-output '[.item, .inputs, .run_input] | map(select(. != null and . != {})) | first | .. | strings' <<<"$task" |
  "$@" "${arguments[@]}" |
  jq --raw-input --null-input --compact-output '{lines: [inputs]}'
