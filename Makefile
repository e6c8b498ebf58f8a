# Shortcuts only: nothing needs this file, each command can be typed by hand.
.PHONY: demo test ci bench build

demo: ; go run ./cmd/demo
test: ; go test ./...
ci:   ; bash .ci/run
bench: ; go run ./cmd/bench
build: ; CGO_ENABLED=0 go build -trimpath -o ticketrail ./cmd/ticketrail
