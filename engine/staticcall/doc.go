// Package staticcall is the kernel's static calls: calls whose target is patched
// into their sites.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: conditional tail calls (jcc, since 6.2) aren't modelled, nor callers
// that read the key's target without a site (key->func).
package staticcall
