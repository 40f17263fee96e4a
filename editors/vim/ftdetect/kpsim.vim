" Traces of kpsim, and those of the .star files that are its scenarios.
autocmd BufRead,BufNewFile *.kps setlocal filetype=kps
autocmd BufRead *.star if search('^\%(\w\+ = \)\?\%(scenario\|machine\|task\|never\|sometimes\)(', 'nw') | setlocal filetype=kpsim | endif
