# A convenience; every line also works typed by hand. Nothing here is needed to build or to run.
.PHONY: demo test ci bench fuzz build

demo: ; go run ./cmd/demo
test: ; go test ./...
ci:   ; bash .ci/run
bench: ; go run ./cmd/bench
build: ; CGO_ENABLED=0 go build -trimpath -o ticketrail ./cmd/ticketrail
