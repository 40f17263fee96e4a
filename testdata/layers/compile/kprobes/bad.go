package kprobes

// What can't be type-checked can't be judged by type.
var broken = missing() // want compile
