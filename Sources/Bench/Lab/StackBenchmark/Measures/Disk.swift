import FoundationEssentials

/// A disk with a journalling file system (ext4 with its defaults) that lies over folders of the device and counts what is
/// written to it: data, metadata and journal, as a flash chip would see it.
actor Disk {
    private let lab: Lab
    private let place: String
    private let folders: [String]

    /// What was in the folders is copied over.
    init(in lab: Lab, for folders: [String]) async throws {
        self.lab = lab
        self.folders = folders
        place = "\(lab.directory)/disk"
        let image = "\(lab.directory)/disk.image"
        try await run("truncate", ["-s", "64M", image])
        // Nothing left to be done later, which would count as written.
        try await run("mkfs.ext4", ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image])
        for folder in folders + [place] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        // Without the module there is no device yet that would load it.
        try await run("modprobe", ["-a", "loop", "ext4"])
        try await run("mount", ["-o", "loop,noatime", image, place])
        for (number, folder) in folders.enumerated() {
            try await run("cp", ["-a", folder, "\(place)/\(number)"])
            try await run("mount", ["--bind", "\(place)/\(number)", folder])
        }
    }

    /// Bytes written so far, with everything that was waiting to be.
    var written: Int {
        get async throws {
            try await run("sync", ["-f", place])
            // Sectors of 512 bytes are its seventh figure (Documentation/block/stat.rst).
            let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)
            guard let device = Self.device(at: place, in: mounts) else {
                throw LabError.unexpected("nothing is mounted at \(place)")
            }
            let statistics = try String(contentsOfFile: "/sys/block/\(device)/stat", encoding: .utf8)
            guard let sectors = Self.sectorsWritten(statistics) else {
                throw LabError.unexpected("/sys/block/\(device)/stat says \(statistics)")
            }
            return sectors * 512
        }
    }

    /// The block device mounted there, such as `loop0`.
    static func device(at place: String, in mounts: String) -> String? {
        let lines = mounts.split(separator: "\n").map { $0.split(separator: " ") }
        return lines.last { $0.count > 1 && $0[0].hasPrefix("/dev/") && $0[1] == place }.map {
            String($0[0].dropFirst("/dev/".count))
        }
    }

    static func sectorsWritten(_ statistics: String) -> Int? {
        let figures = statistics.split(whereSeparator: \.isWhitespace)
        return figures.count > 6 ? Int(figures[6]) : nil
    }

    func remove() async throws {
        for folder in folders.reversed() { try await run("umount", [folder]) }
        try await run("umount", [place])
    }

    private func run(_ name: String, _ arguments: [String]) async throws {
        let program = try await lab.start(name, arguments, log: "disk")
        try await eventually(within: .seconds(60), "\(name) to end") { !program.isRunning }
        guard program.exitStatus == 0 else {
            throw LabError.failed(program: name, status: program.exitStatus ?? -1, said: program.lastLines)
        }
    }
}
