#!/bin/sh
# For git bisect run: 0 good, every schedule is clean; 1 bad, one breaks a property; 125 it can't be told.
verdict=$(kpsim verify --full --json "$@")
status=$?
case $verdict in *'"observation":"Sometimes"'*) exit 1 ;; esac
case $status in 0 | 130) exit $status ;; esac # git stops at 130, which ^C gives
exit 125 # bad input, or more schedules than --runs lets it make
