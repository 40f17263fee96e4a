// Package hub runs a NATS server with JetStream in this process, and connects to one.
//
// What it is not: it knows nothing of campaigns but the rights of each role (rights.go).
//
// Its rule: nothing listens beyond loopback unless an address is given, and then with TLS only. Each connection has
// an nkey, loopback or not. The store is one folder, with the keys.
//
// Its limit: a user who can read the folder can do anything.
package hub
