// libjpeg-turbo. Its errors leave by longjmp, which must not cross a frame of Swift: each of its
// calls that can fail has a frame of C around it here. The memory is the caller's.
#pragma once
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

struct tw_jpeg_faults {
  struct jpeg_error_mgr manager;
  jmp_buf leave;
  // The error, or the first warning.
  char words[JMSG_LENGTH_MAX];
  // The data ended before the picture did; libjpeg makes the rest up.
  int is_cut;
};

struct tw_jpeg_reader {
  struct jpeg_decompress_struct jpeg;
  struct tw_jpeg_faults faults;
  struct jpeg_progress_mgr progress;
  int most_scans;
};

struct tw_jpeg_writer {
  struct jpeg_compress_struct jpeg;
  struct tw_jpeg_faults faults;
  unsigned char *bytes;
  unsigned long count;
};

static void tw_jpeg_leave(j_common_ptr jpeg) {
  struct tw_jpeg_faults *faults = (struct tw_jpeg_faults *)jpeg->err;
  jpeg->err->format_message(jpeg, faults->words);
  longjmp(faults->leave, 1);
}

static void tw_jpeg_note(j_common_ptr jpeg, int level) {
  struct tw_jpeg_faults *faults = (struct tw_jpeg_faults *)jpeg->err;
  if (level >= 0) return;
  if (jpeg->err->num_warnings++ == 0) jpeg->err->format_message(jpeg, faults->words);
  if (jpeg->err->msg_code == JWRN_JPEG_EOF) faults->is_cut = 1;
}

// Instead of writing to standard error.
static void tw_jpeg_say_nothing(j_common_ptr jpeg) { (void)jpeg; }

static inline struct jpeg_error_mgr *tw_jpeg_set_faults(struct tw_jpeg_faults *faults) {
  jpeg_std_error(&faults->manager);
  faults->manager.error_exit = tw_jpeg_leave;
  faults->manager.emit_message = tw_jpeg_note;
  faults->manager.output_message = tw_jpeg_say_nothing;
  return &faults->manager;
}

// A picture of some kilobytes may claim so many scans that decoding takes minutes.
static void tw_jpeg_count_scans(j_common_ptr jpeg) {
  struct tw_jpeg_reader *reader = (struct tw_jpeg_reader *)jpeg;
  if (reader->jpeg.input_scan_number <= reader->most_scans) return;
  snprintf(reader->faults.words, sizeof reader->faults.words, "too many scans");
  longjmp(reader->faults.leave, 1);
}

// Reads the header, of a file in several scans everything. 0, or -1 with the reader's words.
__attribute__((noinline)) static int tw_jpeg_start(
    struct tw_jpeg_reader *reader, const unsigned char *bytes, size_t count, int shrink,
    int most_scans) {
  memset(reader, 0, sizeof *reader);
  reader->jpeg.err = tw_jpeg_set_faults(&reader->faults);
  reader->most_scans = most_scans;
  if (setjmp(reader->faults.leave)) return -1;
  jpeg_create_decompress(&reader->jpeg);
  reader->progress.progress_monitor = tw_jpeg_count_scans;
  reader->jpeg.progress = &reader->progress;
  jpeg_mem_src(&reader->jpeg, bytes, count);
  jpeg_read_header(&reader->jpeg, TRUE);
  reader->jpeg.scale_num = 1;
  reader->jpeg.scale_denom = (unsigned)shrink;
  jpeg_start_decompress(&reader->jpeg);
  return 0;
}

// Rows into `room`, one below the other. 0 or -1.
__attribute__((noinline)) static int tw_jpeg_read(
    struct tw_jpeg_reader *reader, unsigned char *room, int rows) {
  const size_t row = (size_t)reader->jpeg.output_width * (size_t)reader->jpeg.output_components;
  volatile int done = 0;
  if (setjmp(reader->faults.leave)) return -1;
  while (done < rows) {
    JSAMPROW pointers[16];
    int wanted = rows - done < 16 ? rows - done : 16;
    for (int i = 0; i < wanted; i++) pointers[i] = room + row * (size_t)(done + i);
    done += (int)jpeg_read_scanlines(&reader->jpeg, pointers, (JDIMENSION)wanted);
  }
  return 0;
}

// Reads what stands behind the last row. 0 or -1.
__attribute__((noinline)) static int tw_jpeg_end(struct tw_jpeg_reader *reader) {
  if (setjmp(reader->faults.leave)) return -1;
  jpeg_finish_decompress(&reader->jpeg);
  return 0;
}

static inline void tw_jpeg_close(struct tw_jpeg_reader *reader) {
  jpeg_destroy_decompress(&reader->jpeg);
}

// `pixels`: rows without gaps, of 1 or 3 bands. 0 or -1; `bytes` is to be freed.
__attribute__((noinline)) static int tw_jpeg_write(
    struct tw_jpeg_writer *writer, const unsigned char *pixels, int width, int height, int bands,
    int quality, int halves_colour, int is_small) {
  memset(writer, 0, sizeof *writer);
  writer->jpeg.err = tw_jpeg_set_faults(&writer->faults);
  if (setjmp(writer->faults.leave)) {
    jpeg_destroy_compress(&writer->jpeg);
    writer->bytes = NULL;  // libjpeg has moved on to another, and keeps that to itself
    return -1;
  }
  jpeg_create_compress(&writer->jpeg);
  jpeg_mem_dest(&writer->jpeg, &writer->bytes, &writer->count);
  writer->jpeg.image_width = (JDIMENSION)width;
  writer->jpeg.image_height = (JDIMENSION)height;
  writer->jpeg.input_components = bands;
  writer->jpeg.in_color_space = bands == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&writer->jpeg);
  jpeg_set_quality(&writer->jpeg, quality, TRUE);
  if (bands == 3 && !halves_colour)
    writer->jpeg.comp_info[0].h_samp_factor = writer->jpeg.comp_info[0].v_samp_factor = 1;
  if (is_small) {
    writer->jpeg.optimize_coding = TRUE;
    jpeg_simple_progression(&writer->jpeg);
  }
  jpeg_start_compress(&writer->jpeg, TRUE);
  while (writer->jpeg.next_scanline < writer->jpeg.image_height) {
    JSAMPROW row =
        (JSAMPROW)(pixels + (size_t)writer->jpeg.next_scanline * (size_t)width * (size_t)bands);
    jpeg_write_scanlines(&writer->jpeg, &row, 1);
  }
  jpeg_finish_compress(&writer->jpeg);
  jpeg_destroy_compress(&writer->jpeg);
  return 0;
}
