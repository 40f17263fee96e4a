// Package staticcall is the kernel's static calls (kernel/static_call_inline.c): calls
// whose target is patched into their sites. Call.Update is static_call_update.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: conditional tail calls (jcc, since 6.2) aren't modelled, nor callers
// that read the key's target without a site (key->func). An update to the same target
// reads each site, which the kernel doesn't.
package staticcall
