" Traces of kpsim: a scenario, and what was decided in one run of it.
if exists("b:current_syntax")
  finish
endif
syntax include @kpsimScenario syntax/kpsim.vim
syntax region kpsScenario matchgroup=kpsSection start=/^-- scenario\.star --$/ end=/^\ze-- / contains=@kpsimScenario keepend
syntax region kpsSchedule matchgroup=kpsSection start=/^-- schedule --$/ end=/^\ze-- / contains=kpsDeviation,kpsComment keepend
syntax region kpsRemarks matchgroup=kpsSection start=/^-- \%(verdict\|origin\) --$/ end=/^\ze-- / contains=kpsKey keepend
syntax region kpsDigest matchgroup=kpsSection start=/^-- digest --$/ end=/^\ze-- / contains=kpsNumber keepend
syntax match kpsComment /^#.*$/ contained
syntax match kpsDeviation /^[^#].*$/ contained contains=kpsWho,kpsTime,kpsChoice
syntax match kpsWho /^\S\+\ze in / contained
syntax match kpsTime /\d\+\%(st\|nd\|rd\|th\) time/ contained
syntax match kpsChoice / time: \zs.*$/ contained
syntax match kpsKey /^[^:#]\+\ze:/ contained
syntax match kpsNumber /0x\x\+/ contained
highlight default link kpsSection Title
highlight default link kpsComment Comment
highlight default link kpsWho Identifier
highlight default link kpsTime Number
highlight default link kpsChoice Function
highlight default link kpsKey Label
highlight default link kpsNumber Number
let b:current_syntax = "kps"
