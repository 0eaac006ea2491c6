// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command serve runs simulated members until it is told to end. Their kubeconfigs
// are in DIR/kubeconfig, so that what is tested on a real member can be tested on
// one of them: SLUICE_MEMBER_KUBECONFIG=DIR/kubeconfig/member1 go test ./pkg/member
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"sluice.dev/test/members"
)

func main() {
	var o members.Options
	n := flag.Int("members", 3, "`number` of members")
	flag.StringVar(&o.Dir, "dir", "_output/members", "`folder` for the kubeconfigs")
	flag.TextVar(&o.Host, "host", net.IPv4(127, 0, 0, 1), "`address` to listen on")
	flag.BoolVar(&o.Audit, "audit", false, "write audit logs: lab/NAME/audit.log")
	flag.Parse()
	o.Names = members.Names(*n)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := members.Run(ctx, o, func() { fmt.Printf("%d members serve, see %s/kubeconfig\n", *n, o.Dir) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "members:", err)
		os.Exit(1)
	}
}
