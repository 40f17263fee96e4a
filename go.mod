module kpsim

go 1.26.8
