import Glibc
import Linux

/// A user of this machine (passwd(5)).
struct Account {
    let name: String
    let user: UInt32
    let group: UInt32

    init(name: String) throws(HostFailure) {
        guard let entry = getpwnam(name) else { throw .unknownUser(name) }
        self.name = name
        user = entry.pointee.pw_uid
        group = entry.pointee.pw_gid
    }

    /// From here on this process is the user, with nobody else's groups.
    func become() throws(HostFailure) {
        guard geteuid() != user || getuid() != user else { return }
        guard initgroups(name, group) == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw .system(SystemError("become \(name)"))
        }
    }
}
