package flags

// Shells returns the names of the shells that Scripts are for.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Scripts pass all words up to the cursor, as typed, to kpsim complete, which prints each
// completion of the last word, unquoted, on a line. A folder ends with a slash and no blank
// follows; a ~ isn't expanded.
var Scripts = map[string]string{
	"bash": `_kpsim() {
    local word last=${COMP_WORDS[COMP_CWORD]} program=$1
    COMPREPLY=()
    while IFS= read -r word; do
        case $last in
        [\'\"]*) ;;
        '~/'*) printf -v word '~/%q' "${word#'~/'}" ;;
        *) printf -v word %q "$word" ;;
        esac
        COMPREPLY+=("$word")
    done < <("${program/#'~/'/$HOME/}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
complete -F _kpsim kpsim
`,
	"zsh": `#compdef kpsim
_kpsim() {
    local -a found
    local program=${(Q)words[1]}
    found=(${(f)"$("${program/#\~\//$HOME/}" complete -- "${(@)words[2,CURRENT-1]}" "${QIPREFIX}${PREFIX}" 2>/dev/null)"})
    if [[ $PREFIX == \~/* ]]; then
        found=(${found#\~/})
        compset -P '\~/'
    fi
    compadd -S '' -- ${(M)found:#*/}
    compadd -- ${found:#*/}
}
if [[ ${funcstack[1]} == _kpsim ]]; then
    _kpsim "$@"
else
    compdef _kpsim kpsim
fi
`,
	"fish": `function __kpsim_complete
    set -l before (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    $program complete -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c kpsim -f -a '(__kpsim_complete)'
`,
}
