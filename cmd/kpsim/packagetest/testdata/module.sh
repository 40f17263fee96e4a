go mod edit -require=kpsim@v0.0.0 -replace=kpsim=/path/to/kpsim
go install -mod=mod kpsim/cmd/kpsim
