// Package arch has what every processor's instructions share: addresses and
// saved registers.
package arch
