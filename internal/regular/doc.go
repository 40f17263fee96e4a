// Package regular opens files that must be regular ones: inputs, which are untrusted.
//
// What it is not: it reads nothing, and bounds no size. Its callers do.
//
// Its rule: no device, pipe or socket is opened, since that may wait for ever, or do
// something by itself.
//
// Its limit: some pseudo-files of /proc say that they are regular and have no end.
package regular
