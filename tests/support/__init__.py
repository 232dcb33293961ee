"""What tests stand on: servers, clients, wires, and the check of every message that crosses one."""
