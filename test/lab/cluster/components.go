// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
)

// Store are the components that hold the data and serve it. They start first.
func (c *Cluster) Store() []Component {
	return []Component{{Name: Etcd, Args: c.etcdArgs()}, {Name: apiserver, Args: c.apiserverArgs()}}
}

// Clients are the components that need a ready API server.
func (c *Cluster) Clients() []Component {
	comps := []Component{{Name: kcm, Args: c.kcmArgs()}}
	if c.Role == Member {
		// kwok ends now and then because its goroutines write to one map.
		comps = append(comps, Component{Name: scheduler, Args: c.schedulerArgs()}, Component{Name: kwok, Args: c.kwokArgs(), Stateless: true})
	}
	return comps
}

// Components are all of them, in the order of their start.
func (c *Cluster) Components() []Component { return append(c.Store(), c.Clients()...) }

func (c *Cluster) etcdArgs() []string {
	client := fmt.Sprintf("http://127.0.0.1:%d", c.Ports.Etcd)
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.Ports.EtcdPeer)
	return []string{
		Etcd,
		"--name=" + c.Name,
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + c.Name + "=" + peer,
		// The data need to outlive the process, not the machine.
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
}

func (c *Cluster) apiserverArgs() []string {
	args := []string{
		apiserver,
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.Ports.Etcd),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.Ports.API),
		// An endpoint must not be on loopback, and nobody looks for one.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.path("pki", serverCert),
		"--tls-private-key-file=" + c.path("pki", serverKey),
		"--token-auth-file=" + c.path("pki", tokensFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("pki", serviceAccountKey),
		"--service-account-signing-key-file=" + c.path("pki", serviceAccountKey),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged",
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
		"--http2-max-streams-per-connection=1000",
		"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
		"--disable-admission-plugins=" + strings.Join(c.disabledAdmission(), ","),
	}
	if c.Audit {
		args = append(args,
			"--audit-policy-file="+c.path("config", "audit.yaml"),
			"--audit-log-path="+c.AuditLog(),
			"--audit-log-maxsize=0", // one file, however long
		)
	}
	return args
}

// disabledAdmission are the plug-ins that wait for a controller which the
// cluster does not have.
func (c *Cluster) disabledAdmission() []string {
	if c.Role == Member {
		// Its taint is taken off by the node-lifecycle controller.
		return []string{"TaintNodesByCondition"}
	}
	return []string{
		"ResourceQuota",                // denies until a controller has counted
		"StorageObjectInUseProtection", // finalizers that a controller takes off
		"TaintNodesByCondition",
	}
}

// hubControllers keep a control plane in order and act on no workload.
var hubControllers = []string{
	"clusterrole-aggregation-controller",
	"garbage-collector-controller",
	"namespace-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"validatingadmissionpolicy-status-controller",
}

// memberControllers are all but those that need what a member does not have:
// kubelets that renew leases and ask for certificates, disks, a cloud. Nodes
// stay ready without heartbeats, however busy the machine is.
var memberControllers = []string{
	"*",
	"-certificatesigningrequest-approving-controller",
	"-certificatesigningrequest-cleaner-controller",
	"-certificatesigningrequest-signing-controller",
	"-cloud-node-lifecycle-controller",
	"-device-taint-eviction-controller",
	"-ephemeral-volume-controller",
	"-legacy-serviceaccount-token-cleaner-controller",
	"-node-ipam-controller",
	"-node-lifecycle-controller",
	"-node-route-controller",
	"-persistentvolume-attach-detach-controller",
	"-persistentvolume-expander-controller",
	"-podcertificaterequest-cleaner-controller",
	"-podgroup-protection-controller",
	"-resourceclaim-controller",
	"-resourcepoolstatusrequest-controller",
	"-service-lb-controller",
	"-storage-version-migrator-controller",
	"-storageversion-garbage-collector-controller",
	"-ttl-controller",
	"-volumeattributesclass-protection-controller",
}

func (c *Cluster) kcmArgs() []string {
	controllers := hubControllers
	if c.Role == Member {
		controllers = memberControllers
	}
	return []string{
		kcm,
		"--kubeconfig=" + c.userKubeconfig(kcm),
		"--controllers=" + strings.Join(controllers, ","),
		"--service-account-private-key-file=" + c.path("pki", serviceAccountKey),
		"--root-ca-file=" + c.path("pki", caCert),
		"--flex-volume-plugin-dir=" + c.path("volumeplugins"),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=10000",
		"--kube-api-burst=10000",
		"--concurrent-namespace-syncs=20",
		"--concurrent-deployment-syncs=10",
		"--concurrent-replicaset-syncs=10",
	}
}

func (c *Cluster) schedulerArgs() []string {
	return []string{
		scheduler,
		"--config=" + c.path("config", "scheduler.yaml"),
		"--secure-port=0",
	}
}

func (c *Cluster) kwokArgs() []string {
	return []string{
		kwok,
		"--kubeconfig=" + c.userKubeconfig(kwok),
		"--config=" + c.path("config", "kwok.yaml"),
		"--manage-all-nodes",
		"--node-ip=" + NodeIP,
		"--cidr=10.244.0.0/16",
		"--node-lease-duration-seconds=0",
		"--v=WARN",
	}
}
