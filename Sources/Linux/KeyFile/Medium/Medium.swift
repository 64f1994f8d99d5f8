/// The storage of the sectors: a file, a partition, or raw flash. The seam under which tests put a flash chip that
/// loses its power.
///
/// A sector that was begun is only ever appended to, so that flash, whose bits can be cleared one by one but set only
/// all at once, can hold it. Written data is durable after `synchronise`.
package protocol Medium: AnyObject {
    var geometry: Geometry { get }
    /// Whether there is anything to be read: a file may not have been made yet.
    var isPresent: Bool { get }
    /// Throws the reason for which nothing can be written, if there is one.
    func requireWritable() throws(KeyFileError)
    /// Fills the buffer with what is at `offset`. Bytes that a truncated file does not have read as 0.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError)
    /// Whether bytes can be written over. If not, as on flash, a sector is erased to `0xff` before it is begun.
    var isRewritable: Bool { get }
    /// The sectors that are given up: they read as blank.
    var badSectors: Set<Int> { get }
    /// The form with which `replace` makes room for at least so many sectors.
    /// - Returns: nil where there is no more room than there is.
    func geometry(holding sectors: Int) -> Geometry?
    /// Puts a store of another form, whole and at one stroke, in the place of what is there: these sectors, by number,
    /// and blank ones. Durable after `synchronise`.
    func replace(with sectors: [Int: [UInt8]], as geometry: Geometry) throws(KeyFileError)
    /// Writes these bytes to the start of a sector, where it is not rewritable behind erasing it.
    /// - Throws: `badSector` where the flash chip has given the sector up: another one will do.
    func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError)
    /// Writes to where nothing was written since the sector was begun.
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError)
    /// Erases a sector to `0xff`.
    func erase(sector: Int) throws(KeyFileError)
    func synchronise() throws(KeyFileError)
    /// Sees to it that what is read next comes from the medium and not from the system's memory, which after a failed
    /// write may hold what the medium does not.
    func forgetCached()
    /// Makes way for a new beginning with the next `replace`, or `begin` on a device, because what is there is no key
    /// file or has not all of its sectors. A file is given a second name, so that nothing is lost.
    /// - Returns: where it will be kept, or nil where that is not possible.
    /// - Throws: `foreignContent` on a device, which has only one place.
    func setAside() throws(KeyFileError) -> String?
    /// Whether all sectors are there: a file may have been cut off.
    var isWhole: Bool { get }
    /// Whether blank sectors, or such full of zeros, mean that nothing was ever stored. A file is never made blank.
    var isNewWhenBlank: Bool { get }
}

extension Medium {
    package func forgetCached() {}
    package var isRewritable: Bool { false }
    package var badSectors: Set<Int> { [] }
    package func geometry(holding sectors: Int) -> Geometry? { nil }
    package func replace(with sectors: [Int: [UInt8]], as geometry: Geometry) throws(KeyFileError) {
        throw .stateTooLarge(bytes: geometry.size, maximum: self.geometry.size)
    }
    package var isWhole: Bool { true }
    package var isNewWhenBlank: Bool { true }
}
