// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package ports finds a place on the loopback for a process that is about to start, and
// that finds it free when it starts again: the kernel gives none of these ports to clients,
// nor to who asks for any. Nothing is reserved, so two who ask at the same time may be told
// the same. The lab has ports of its own.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// first and end are the ports below those that the kernel hands out (32768 and up), and
// above those of the lab.
const first, end = 30000, 32768

// Free is an address, as 127.0.0.1:PORT, at which nobody listens.
func Free() (string, error) {
	var err error
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(end-first)))
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}
