import AgentModel
import Glibc

struct SystemUser {
    let name: String
    let user: UInt32
    let group: UInt32

    init(name: String) throws(HostFailure) {
        guard let entry = getpwnam(name) else { throw .unknownUser(name) }
        self.name = name
        user = entry.pointee.pw_uid
        group = entry.pointee.pw_gid
    }

    /// Checks that this process can run programs as the user, and that they are not root.
    /// - Parameter user: user of the programs; nil for this process's user.
    static func requireUnprivileged(_ user: SystemUser?) throws(HostFailure) {
        switch (geteuid() == 0, user?.user) {
        case (true, nil), (_, 0?): throw .programsWouldBeRoot
        case (false, let number?) where number != geteuid(): throw .notRoot
        default: break
        }
    }

    /// Changes this process to the user and the user's groups, permanently.
    func become() throws(HostFailure) {
        guard geteuid() != user || getuid() != user else { return }
        guard initgroups(name, group) == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw .system(SystemError("become \(name)"))
        }
    }
}

extension SystemUser {
    init(number: UInt32) throws(HostFailure) {
        guard let entry = getpwuid(number) else { throw .unknownUser("\(number)") }
        try self.init(name: String(cString: entry.pointee.pw_name))
    }

    /// Runs `body` with the user's effective rights, then returns to root. New files then belong to the user, and links
    /// in the user's folder cannot lead root to other files.
    func acting<Value>(_ body: () throws -> Value) throws -> Value {
        guard user != geteuid() else { return try body() }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        let group = getegid()
        guard count >= 0, initgroups(name, self.group) == 0, setegid(self.group) == 0, seteuid(user) == 0 else {
            throw HostFailure.system(SystemError("act as \(name)"))
        }
        defer {
            // Returning to root cannot fail.
            seteuid(0)
            setegid(group)
            setgroups(groups.count, groups)
        }
        return try body()
    }
}
