// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are the loopback ports of a cluster, chosen once.
type Ports struct {
	Etcd     int `json:"etcd"`
	EtcdPeer int `json:"etcdPeer"`
	API      int `json:"api"`
}

// Ports are taken from below the range that the kernel hands out to clients
// (32768 and up): a stopped member's port must still be free when it returns.
const firstPort, endPort = 20000, 30000

// ChoosePorts finds free ports that are not in taken, and adds them to it.
func ChoosePorts(taken map[int]bool) (Ports, error) {
	var p Ports
	for _, port := range []*int{&p.Etcd, &p.EtcdPeer, &p.API} {
		n, err := freePort(taken)
		if err != nil {
			return Ports{}, err
		}
		taken[n] = true
		*port = n
	}
	return p, nil
}

func freePort(taken map[int]bool) (int, error) {
	var errs []error
	for range 100 {
		n := firstPort + rand.IntN(endPort-firstPort)
		if taken[n] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return n, l.Close()
	}
	return 0, fmt.Errorf("find a free port: %w", errors.Join(errs...))
}
