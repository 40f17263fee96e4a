package image

import "kpsim/smp/arch"

// A SiteKind says which of the kernel's tables names a place in the text.
type SiteKind uint8

// The kinds of sites, with the section each is from.
const (
	SiteBug         SiteKind = iota // __bug_table: the ud2 or ud1 of a BUG or WARN
	SiteJumpLabel                   // __jump_table: a nop or jmp of 2 or 5 bytes
	SiteStaticCall                  // .static_call_sites
	SiteAlternative                 // .altinstructions
	SiteLock                        // .smp_locks: a lock prefix; rewritten only with the feature "up"
	SiteFentry                      // __mcount_loc, or a call of __fentry__ itself: a nop until something traces
	SiteReturn                      // .return_sites
	SiteRetpoline                   // .retpoline_sites
	SiteEndbr                       // .ibt_endbr_seal: an endbr64 that nothing needs
	SiteParavirt                    // .parainstructions: a call through pv_ops
	SiteExtable                     // __ex_table: an instruction that may fault
	SiteBlacklist                   // _kprobe_blacklist, .kprobes.text, .noinstr.text
)

var siteNames = [...]string{"bug", "jump label", "static call", "alternative", "lock", "fentry",
	"return", "retpoline", "endbr", "paravirt", "extable", "blacklist"}

func (k SiteKind) String() string { return siteNames[k] }

// A Site is a place in the text that one of the kernel's tables names.
type Site struct {
	Addr arch.Addr
	// Len is how many bytes the kernel may rewrite, or reads as one thing, from
	// Addr. An Extable site has 1, a Blacklist site all of the function.
	Len    int
	Kind   SiteKind
	Tail   bool      // StaticCall: a jmp, not a call
	Target arch.Addr // JumpLabel: where the jmp leads; Extable: the fixup
	// Name is the key of a jump label or static call, if a symbol says it, the
	// feature that an alternative asks for, with ! before it if it asks for its
	// absence, and the thunk of a return or retpoline.
	Name string
	Type int32 // Extable: the type word (arch/x86/include/asm/extable_fixup_types.h)
}
