package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
)

// Settings are what an engine is made with: its configuration and edition, and
// what is broken on purpose.
type Settings struct {
	era.Settings
	Steps *Steps // nil: Linux; mutants wrap some
	_     struct{}
}

// Until the engine's bodies say era and rules themselves.
type (
	Edition = rules.Edition
	Step    = era.Step
	Boost   = era.Boost
	Return  = era.Return
	Files   = era.Files
)

const (
	Edition26         = rules.Edition26
	Edition415        = rules.Edition415
	Edition514        = rules.Edition514
	Edition65         = rules.Edition65
	Edition69         = rules.Edition69
	EditionDocumented = rules.EditionDocumented
	StepInt3          = era.StepInt3
	StepDebug         = era.StepDebug
	BoostPrepare      = era.BoostPrepare
	BoostStepped      = era.BoostStepped
	BoostNever        = era.BoostNever
	ReturnObjpool     = era.ReturnObjpool
	ReturnRethook     = era.ReturnRethook
	ReturnFreelist    = era.ReturnFreelist
	ReturnHashed      = era.ReturnHashed
	ReturnGlobal      = era.ReturnGlobal
	MostOptimized     = era.MostOptimized
	OrderText         = era.OrderText
	OrderModule       = era.OrderModule
	OrderStep         = era.OrderStep
	FilesBool         = era.FilesBool
	FilesChar         = era.FilesChar
	FilesPlain        = era.FilesPlain
	FilesFirst        = era.FilesFirst
)
