import AgentModel
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

    /// From here on this process is the user, with the user's groups alone.
    func become() throws(HostFailure) {
        guard geteuid() != user || getuid() != user else { return }
        guard initgroups(name, group) == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw .system(SystemError("become \(name)"))
        }
    }
}

extension Account {
    /// The user with this number.
    init(number: UInt32) throws(HostFailure) {
        guard let entry = getpwuid(number) else { throw .unknownUser("\(number)") }
        try self.init(name: String(cString: entry.pointee.pw_name))
    }

    /// Does something with the user's rights alone, and is root again afterwards: so files that root makes in a folder
    /// of the user's belong to the user, and no link in it leads root astray.
    func acting<Value>(_ body: () throws -> Value) throws -> Value {
        guard user != geteuid() else { return try body() }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        let group = getegid()
        guard count >= 0, initgroups(name, self.group) == 0, setegid(self.group) == 0, seteuid(user) == 0 else {
            throw HostFailure.system(SystemError("act as \(name)"))
        }
        defer {
            // Root is what this process was, so nothing of it can be refused.
            seteuid(0)
            setegid(group)
            setgroups(groups.count, groups)
        }
        return try body()
    }
}
