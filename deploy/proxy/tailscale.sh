#!/bin/sh
# Tailscale Funnel on the same box: the service reaches https://BOX.TAILNET.ts.net/webhooks/print/SECRET.
# The box needs no open port. In ticketrail.yaml: receiver.listen: 127.0.0.1:8443,
# receiver.trusted_proxies: [127.0.0.1/32]
exec tailscale funnel --bg --set-path /webhooks/print http://127.0.0.1:8443/webhooks/print
