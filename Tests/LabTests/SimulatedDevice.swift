import FoundationEssentials
import Testing

@testable import Lab

/// A device that a module of the kernel simulates.
struct SimulatedDevice: Sendable, CustomTestStringConvertible {
    private let module: String
    private let parameters: [String]
    let testDescription: String

    /// NOR flash; sizes in KiB.
    static func nor(size: Int = 512, eraseSize: Int) -> Self {
        Self(
            module: "mtdram", parameters: ["total_size=\(size)", "erase_size=\(eraseSize)"],
            testDescription: "NOR flash of \(size) KiB, erase blocks of \(eraseSize) KiB")
    }

    /// NAND flash with erase blocks of 128 KiB and pages of 2 KiB.
    /// - Parameter defects: as `modinfo nandsim` has them.
    static func nand(eraseBlocks: Int = 8, _ defects: String...) -> Self {
        Self(
            module: "nandsim", parameters: ["id_bytes=0xec,0xa1,0x00,0x15", "parts=\(eraseBlocks)"] + defects,
            testDescription: (["NAND flash of \(eraseBlocks) erase blocks"] + defects).joined(separator: ", "))
    }

    /// NAND flash of an older kind: erase blocks of 16 KiB and pages of 512 bytes.
    static func smallPageNAND(eraseBlocks: Int) -> Self {
        Self(
            module: "nandsim", parameters: ["id_bytes=0x98,0x73", "parts=\(eraseBlocks)"],
            testDescription: "NAND flash of \(eraseBlocks) erase blocks with small pages")
    }

    /// A disk; its size in KiB.
    static func disk(size: Int = 512) -> Self {
        Self(module: "brd", parameters: ["rd_nr=1", "rd_size=\(size)"], testDescription: "disk of \(size) KiB")
    }

    /// Has the device for as long as `body` runs.
    func use(_ body: (_ path: String) throws -> Void) throws {
        try Self.run("modprobe", [module] + parameters)
        let result = Result { try body(path()) }
        try Self.run("modprobe", ["-r", module])
        try result.get()
    }

    /// Runs a program of the system to its end.
    static func run(_ program: String, _ arguments: [String]) throws {
        try Program.run(program, arguments, log: "/run/simulated-device.log")
    }

    private func path() throws -> String {
        if module == "brd" { return "/dev/ram0" }
        // mtd0: 00080000 00001000 "mtdram test device"
        let devices = try String(contentsOfFile: "/proc/mtd", encoding: .utf8).split(separator: "\n")
        let line = try #require(devices.first { $0.contains("\"mtdram") || $0.contains("\"NAND simulator") })
        return "/dev/\(line.prefix { $0 != ":" })"
    }
}

extension Trait where Self == ConditionTrait {
    /// Skipped where the kernel cannot simulate flash and disks.
    static var onSimulatedDevices: Self {
        let missing = ["mtdram", "nandsim", "mtdblock", "brd"].filter {
            (try? SimulatedDevice.run("modprobe", ["--dry-run", $0])) == nil
        }
        return .disabled(
            if: !missing.isEmpty, Comment(rawValue: "this kernel has no \(missing.joined(separator: ", "))"))
    }
}
