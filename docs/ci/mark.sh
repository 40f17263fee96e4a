#!/bin/sh
# mark.sh OURS ANSWER: is ANSWER a run of the same program as OURS, and does it break a property?
program() { kpsim replay --json "$1" 2>&1 | grep -o '"program":"[0-9a-f]*"'; }
run=$(kpsim replay --json "$2" 2>&1)
case $? in
1) echo "$2: no: played, it isn't what it says" && exit ;;
2) echo "$2: no: ${run#kpsim: }" && exit ;;
esac
case $run in
*text_edited* | *text_unchecked*) echo "$2: ask: it was edited by hand" ;;
*'"breaks":false'*) echo "$2: no: nothing is broken" ;;
*"$(program "$1")"*) echo "$2: yes" ;;
*) echo "$2: no: it is a run of another program" ;;
esac
