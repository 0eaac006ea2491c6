// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports are the loopback ports of a cluster, chosen once.
type Ports struct {
	Etcd     int `json:"etcd"`
	EtcdPeer int `json:"etcdPeer"`
	API      int `json:"api"`
}

// Ports are taken from below the range that the kernel hands out to clients
// (32768 and up): a stopped member's port must still be free when it returns.
const firstPort, endPort, blockSize = 20000, 30000, 100

// block is the first of those ports that this process chooses from, as long as it runs:
// labs that start at the same time would else find the same port free, which is taken
// only when its component listens.
var block = sync.OnceValues(func() (int, error) {
	var err error
	for range 1000 {
		n := rand.IntN((endPort - firstPort) / blockSize)
		if claim, err = net.Listen("unix", fmt.Sprintf("@sluice-lab-ports-%d", n)); err == nil {
			return firstPort + n*blockSize, nil
		}
	}
	return 0, fmt.Errorf("claim a block of ports: %w", err)
})

// claim is closed when the process ends.
var claim net.Listener

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
	first, err := block()
	if err != nil {
		return 0, err
	}
	var errs []error
	for n := first; n < first+blockSize; n++ {
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
