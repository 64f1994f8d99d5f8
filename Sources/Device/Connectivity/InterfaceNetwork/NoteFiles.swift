#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One version of a note: each is another file. No clock is asked, for it may be set at any time.
public struct NoteMark: Equatable, Sendable {
    let inode: UInt64
    let seconds: Int
    let nanoseconds: Int
}

/// Which versions of its notes there are about an interface's network.
public struct NoteMarks: Equatable, Sendable {
    /// Of what our hook has written; nil for nothing.
    let lease: NoteMark?
    /// Of what systemd-networkd has.
    let link: NoteMark?
}

/// Where notes about networks are kept.
public struct NoteFiles: Sendable {
    /// A folder with a file for each interface, written by `board/dhcpcd/altnet-lease`. It is root's alone, for root writes
    /// there: in a folder of the agent's, an agent that was taken over could have it write elsewhere, by a link.
    public let leases: String
    /// A folder of systemd-networkd with a file for each interface's index.
    public let links: String
    /// The name servers of the whole machine, resolv.conf(5).
    public let resolver: String

    public static let system = NoteFiles(
        leases: "/run/altnet-leases", links: "/run/systemd/netif/links", resolver: "/etc/resolv.conf")

    public init(leases: String, links: String, resolver: String) {
        self.leases = leases
        self.links = links
        self.resolver = resolver
    }

    /// What is noted about an interface's network, and nothing as long as nothing is. Reads it anew each time.
    ///
    /// What our hook has written counts, also if it names no server. systemd-networkd has a file for interfaces too whose
    /// network it does not see to. Where neither names a server, those of the whole machine count, but not where our hook
    /// is at work, which the folder shows: it has a note for a network in a moment, and until then the machine's servers
    /// are those of the network before. Nor where systemd-networkd had servers for the network before and has not written
    /// anything since.
    /// - Parameter old: what was noted about the network before.
    public func notes(of interface: String?, since old: NoteMarks? = nil) -> NetworkNotes {
        guard let interface, Self.isName(interface) else { return machine }
        if let note = note(at: leasePath(interface), since: old?.lease), note.isNew {
            return NetworkNotes(assignments: note.text, servers: "NAME_SERVERS")
        }
        var notes = NetworkNotes()
        if let path = linkPath(interface), let note = note(at: path, since: old?.link) {
            let told = NetworkNotes(link: note.text)
            guard note.isNew || told.nameServers.isEmpty else { return notes }
            if note.isNew { notes = told }
        }
        if notes.nameServers.isEmpty, access(leases, F_OK) != 0 { notes.nameServers = machine.nameServers }
        return notes
    }

    /// By which what is noted now is known again.
    func marks(of interface: String?) -> NoteMarks? {
        guard let interface, Self.isName(interface) else { return nil }
        return NoteMarks(
            lease: Self.mark(of: leasePath(interface)), link: linkPath(interface).flatMap { Self.mark(of: $0) })
    }

    private func leasePath(_ interface: String) -> String { "\(leases)/\(interface)" }

    private func linkPath(_ interface: String) -> String? {
        let index = if_nametoindex(interface)
        return index > 0 ? "\(links)/\(index)" : nil
    }

    /// - Returns: nil if nothing is noted there.
    private func note(at path: String, since old: NoteMark?) -> (text: [UInt8], isNew: Bool)? {
        // Before it is read: what is written meanwhile is new.
        let mark = Self.mark(of: path)
        return Self.content(of: path).map { ($0, old == nil || old != mark) }
    }

    private static func mark(of path: String) -> NoteMark? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return NoteMark(
            inode: UInt64(status.st_ino), seconds: Int(status.st_mtim.tv_sec), nanoseconds: Int(status.st_mtim.tv_nsec))
    }

    private var machine: NetworkNotes {
        NetworkNotes(resolverConfiguration: Self.content(of: resolver) ?? [])
    }

    static let largest = 65_536

    /// A name of an interface (dev_valid_name of Linux), which leads to no other folder.
    private static func isName(_ name: String) -> Bool {
        (1...15).contains(name.utf8.count) && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
            && !name.utf8.contains(0)
    }

    /// - Returns: nil for what does not exist, is too large or is no file; it never waits for a pipe.
    private static func content(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var content: [UInt8] = []
        while content.count <= largest {
            var piece = [UInt8](repeating: 0, count: 4096)
            let count = read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { return content }
            content += piece.prefix(count)
        }
        return nil
    }
}
