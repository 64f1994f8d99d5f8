import AppProtocol
import Glibc

/// Permissions of this machine's processes.
struct LocalAccess: Sendable {
    let ownUser: UInt32
    /// Group with full access.
    let group: UInt32
    /// Group with read access.
    let readers: UInt32?
    let relays: RelayAccess?

    /// Returns true if the process is a relay. The relays' group takes precedence over its other groups.
    func isRelay(_ process: ProcessCredentials) -> Bool {
        guard let relays, process.uid != 0, process.uid != ownUser else { return false }
        return process.groups.contains(relays.group)
    }

    /// - Returns: nil for no access.
    func role(of process: ProcessCredentials) -> Role? {
        if let relays, isRelay(process) { return relays.role }
        if process.uid == 0 || process.uid == ownUser || process.groups.contains(group) { return .manage }
        return readers.map(process.groups.contains) == true ? .see : nil
    }
}

/// A process, as recorded by the kernel when it connected (unix(7)).
package struct ProcessCredentials: Sendable, Equatable {
    package let pid: Int32
    package let uid: UInt32
    package let gid: UInt32
    /// `gid` and the supplementary groups.
    package let groups: Set<UInt32>

    package init(pid: Int32, uid: UInt32, gid: UInt32, groups: Set<UInt32>) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
        self.groups = groups.union([gid])
    }

    /// - Returns: nil if the kernel does not report the peer.
    package init?(peerOf descriptor: CInt) {
        var credentials = Credentials()
        var size = socklen_t(MemoryLayout<Credentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        self.init(
            pid: credentials.pid, uid: credentials.uid, gid: credentials.gid,
            groups: Self.supplementaryGroups(of: descriptor))
    }

    private static func supplementaryGroups(of descriptor: CInt) -> Set<UInt32> {
        var groups = [UInt32](repeating: 0, count: 32)
        while true {
            var size = socklen_t(groups.count * MemoryLayout<UInt32>.stride)
            if getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &size) == 0 {
                return Set(groups.prefix(Int(size) / MemoryLayout<UInt32>.stride))
            }
            // The kernel has returned the needed size, for at most 65,536 groups (NGROUPS_MAX).
            let count = Int(size) / MemoryLayout<UInt32>.stride
            guard errno == ERANGE, count > groups.count, count <= 65_536 else { return [] }
            groups = Array(repeating: 0, count: count)
        }
    }
}

/// The kernel's `struct ucred` (unix(7)), which glibc exposes to GNU sources only.
private struct Credentials {
    var pid: Int32 = 0
    var uid = UInt32.max
    var gid = UInt32.max
}
