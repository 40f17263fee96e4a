package smp

const jump = 0xe9
